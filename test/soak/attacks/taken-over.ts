import type { Scene } from '../stand-ins/scene.ts'

/** Who keeps running. `migrate` ends before the others start. */
export const services = ['api', 'conductor', 'worker', 'postgres', 'redis'] as const
export type Service = (typeof services)[number]
export const roles = ['api', 'conductor', 'worker'] as const

/** What can be run inside the containers of a scene, as if their processes had been taken over. */
export const takenOver = (scene: () => Scene) => {
  const first = async (service: Service): Promise<string> => {
    const [name] = await scene().fleet.containers(service)
    if (name === undefined) throw new Error(`No container of ${service} runs.`)
    return name
  }
  const inside = async (service: Service, command: readonly string[]): Promise<string> =>
    scene().engine.podman(['exec', await first(service), ...command])
  const shell = (service: Service, text: string) => inside(service, ['sh', '-c', text])
  const node = (service: Service, text: string) =>
    inside(service, ['node', '--input-type=module', '-e', text])
  return { first, shell, node }
}

/** The lines of an answer; none for an empty one. */
export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')

import type { TemplateRow } from '../../../db/schema/template.ts'
import { ownedImage, templateNames } from '../../../src/domain/template/names.ts'
import type { Thing } from './imagined-folder.ts'
import type { SwapWorld } from './swap-world.ts'

const isWhole = (thing: Thing | undefined): boolean =>
  thing?.complete === true && ownedImage(thing.owner, 'here') !== undefined

const at = ({ folder }: SwapWorld, template: TemplateRow) => {
  const { production, temp, old } = templateNames(template)
  const named = (name: string) => folder.named(template.folder, name)
  return { production: named(production), temp: named(temp), old: named(old) }
}

/** At every moment: a name that resolved goes on to, or a whole object beside it is about to take it. */
export const judgeMoment = (world: SwapWorld): void => {
  for (const template of world.templates) {
    const { production, temp, old } = at(world, template)
    if (isWhole(production)) world.resolved.add(template.id)
    else if (production) world.resolved.delete(template.id)
    else if (world.resolved.has(template.id) && !isWhole(temp) && !isWhole(old))
      world.broken.push(`${template.name} points at nothing, and nothing whole is beside it`)
  }
}

/** When all is over: one production of the wanted image, nothing beside it, and rows that say so. */
export const judgeRest = (world: SwapWorld): string[] => {
  const wrong: string[] = []
  const { versions, replicas } = world.memory.tables
  for (const template of world.templates) {
    const say = (what: string) => wrong.push(`${template.name}: ${what}`)
    const { production, temp, old } = at(world, template)
    if (!isWhole(production)) say('the name does not resolve')
    else if (ownedImage(production?.owner ?? {}, 'here') !== template.imageId) say('it is another image')
    if (temp) say(`${temp.ref} is left under the temporary name`)
    if (old) say(`${old.ref} is left under the old name`)
    if (template.state !== 'live' || template.versionLive !== template.versionWanted)
      say(`it is ${template.state} at ${template.versionLive}: ${template.message}`)
    const live = versions.filter((v) => v.templateId === template.id && v.state === 'live')
    if (live.length !== 1 || live[0]?.number !== template.versionLive) say('not one version is live')
    const row = replicas.find(({ id }) => id === live[0]?.replicaId)
    if (row?.ref !== production?.ref || row?.templateId !== template.id || row?.state !== 'ready')
      say('the row of its object says otherwise')
  }
  const refs = new Set([...world.folder.things.keys()].filter((ref) => !world.folder.isStranger(ref)))
  const known = replicas.filter(({ state }) => state === 'ready' || state === 'removing')
  for (const ref of refs) if (!known.some((row) => row.ref === ref)) wrong.push(`nobody knows of ${ref}`)
  for (const { state } of replicas)
    if (state === 'importing') wrong.push('an import is recorded that is over')
  return wrong
}

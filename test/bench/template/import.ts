import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cpuMsOf } from '../cpu-time.ts'
import type { BenchOptions } from '../options.ts'
import { say, sayBar, saySection, sayTable } from '../report.ts'
import { onClose } from '../resources.ts'
import { median } from '../samples.ts'
import { type Content, type MadeOva, makeOva } from './made-ova.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('import-program.ts', import.meta.url))

interface Took {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly rssBytes?: number
}

const timed = async (work: () => Promise<unknown>): Promise<Took> => {
  const cpu = cpuMsOf(process.pid) ?? 0
  const began = performance.now()
  await work()
  return {
    seconds: (performance.now() - began) / 1_000,
    cpuSeconds: ((cpuMsOf(process.pid) ?? 0) - cpu) / 1_000,
  }
}

/** `tar x`, `sha256sum` and `qemu-img convert`, one after the other. */
const inSequence = (dir: string, ova: MadeOva): Promise<Took> =>
  timed(async () => {
    const extracted = join(dir, 'extracted')
    await run('mkdir', ['-p', extracted])
    await run('tar', ['xf', ova.path, '-C', extracted])
    const disk = join(extracted, ova.disk.name)
    await run('sha256sum', [disk])
    await run('qemu-img', ['convert', '-q', '-f', 'vmdk', '-O', 'raw', disk, join(dir, 'sequence.raw')])
    await rm(extracted, { recursive: true })
  })

/** qemu-img reads the disk inside the archive, with `sha256sum` of the archive beside it. */
const inPlace = (dir: string, ova: MadeOva): Promise<Took> =>
  timed(() => {
    const { offset, bytes: size } = ova.disk
    const inner = { driver: 'raw', offset, size, file: { driver: 'file', filename: ova.path } }
    const source = `json:${JSON.stringify({ driver: 'vmdk', file: inner })}`
    return Promise.all([
      run('sha256sum', [ova.path]),
      run('qemu-img', ['convert', '-q', '-m', '16', '-W', '-O', 'raw', source, join(dir, 'place.raw')]),
    ])
  })

const byDrover = async (dir: string, ova: MadeOva): Promise<Took> => {
  const { stdout } = await run(process.execPath, [
    '--import',
    'tsx',
    program,
    ova.path,
    join(dir, 'drover.raw'),
  ])
  return JSON.parse(stdout) as Took
}

const contenders = { sequence: inSequence, 'in place': inPlace, drover: byDrover } as const
type Name = keyof typeof contenders
const names = Object.keys(contenders) as Name[]

/** Import of one streamOptimized disk to raw, beside tool chains that do the same. */
export const runImport = async ({ rounds, quick }: BenchOptions): Promise<void> => {
  const capacity = (quick ? 64 : 2_048) * 1024 ** 2
  const dir = await mkdtemp(join(tmpdir(), 'drover-bench-ova-'))
  onClose(() => rm(dir, { recursive: true, force: true }))
  for (const content of ['half-random', 'compressible'] as const)
    await compare(dir, { content, capacity, rounds })
}

const compare = async (
  dir: string,
  { content, capacity, rounds }: { content: Content; capacity: number; rounds: number },
): Promise<void> => {
  saySection(`import of ${capacity / 1024 ** 2} MiB, ${content}, to raw`)
  const ova = await makeOva(dir, content, capacity)
  const took: Record<Name, Took[]> = { sequence: [], 'in place': [], drover: [] }
  for (let round = 0; round < rounds; round += 1)
    for (const name of names) took[name].push(await contenders[name](dir, ova))
  await run('qemu-img', [
    'compare',
    '-f',
    'raw',
    '-F',
    'raw',
    join(dir, 'sequence.raw'),
    join(dir, 'drover.raw'),
  ])
  const seconds = (name: Name) => median(took[name].map((one) => one.seconds))
  sayTable([
    ['', 'seconds', 'processor s', 'samples'],
    ...names.map((name) => [
      name,
      seconds(name).toFixed(2),
      median(took[name].map(({ cpuSeconds }) => cpuSeconds)).toFixed(2),
      took[name].map((one) => one.seconds.toFixed(1)).join(' '),
    ]),
  ])
  say('the content of both raw disks is equal, as qemu-img compare says')
  const ratio = (name: Name) => seconds('drover') / seconds(name)
  const bar = { atLeast: false, unit: '' } as const
  sayBar({ ...bar, name: `template-import-${content}/sequence`, measured: ratio('sequence'), bar: 0.5 })
  sayBar({ ...bar, name: `template-import-${content}/in-place`, measured: ratio('in place'), bar: 0.8 })
  const rss = Math.max(...took.drover.map(({ rssBytes = 0 }) => rssBytes)) / 1e6
  sayBar({ ...bar, name: `template-import-${content}-rss`, measured: rss, bar: 200, unit: 'MB' })
  await rm(ova.path)
}

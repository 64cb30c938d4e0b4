import type { Client } from '../cli/kit/client.ts'
import { itemsOf, pathOf } from '../cli/kit/rows.ts'
import type { Terminal } from '../print/terminal.ts'
import { writeDemoOva } from './demo-ova.ts'
import { droverCommand } from './drover-command.ts'

/** The template that the first start makes and updates, as an example of a swap. */
export const templateName = 'lab-golden'

const target = 'lab-cloud'
const folder = '/cloud/templates'
const versions = ['1.0', '1.1'] as const
const lookMs = 200
const waitLimitMs = 120_000

export interface ShowTemplateOptions {
  readonly client: Client
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly address: string
  /** The folder that workers import archives from; undefined: the operator has set another folder. */
  readonly imageDir: string | undefined
}

/**
 * Imports two versions of a golden image into the lab and makes a template point at the first, then at the second; once
 * per installation. Later starts show the state of the template. Failures are printed, not thrown.
 */
export const showTemplate = async (options: ShowTemplateOptions): Promise<void> => {
  const { terminal, signal, address } = options
  try {
    await show(options)
  } catch (error) {
    terminal.live('')
    if (signal.aborted) return
    terminal.line(`The golden template cannot be shown: ${(error as Error).message}`)
    terminal.line(`  ${address}/templates`)
  }
}

const show = async (options: ShowTemplateOptions): Promise<void> => {
  const { client, terminal, imageDir } = options
  const isThere = (await client.find(pathOf('templates', templateName))) !== undefined
  if (!isThere && ((await wasMade(client)) || imageDir === undefined)) return
  if (imageDir !== undefined && (await isUnfinished(client, isThere))) {
    terminal.line(
      `The template ${templateName} is made on ${target} from an OVA, then updated from a second OVA.`,
    )
    for (const version of versions) await point(options, imageDir, version)
  }
  for (const line of await endLines(client)) terminal.line(line)
  terminal.line()
}

/** Whether the template was ever made: a removed template is not made again by the next start. */
const wasMade = async (client: Client): Promise<boolean> => {
  for (let after: string | undefined; ; ) {
    const query = { types: 'template.created', limit: 1, after }
    const page = await client.get('/v1/events', query)
    if (itemsOf(page).length > 0 || page.end) return itemsOf(page).length > 0
    after = String(page.next)
  }
}

/** An earlier start may have been interrupted between the two versions. */
const isUnfinished = async (client: Client, isThere: boolean): Promise<boolean> => {
  if (!isThere) return true
  const { version_wanted: wanted, image } = await readTemplate(client)
  return wanted === 1 && image === imageOf(versions[0])
}

interface TemplateSeen {
  readonly state: string
  readonly message: string
  readonly image: string
  readonly image_live: string | null
  readonly version_wanted: number
  readonly version_live: number | null
  readonly error: { readonly message: string; readonly remedy: string } | null
}

const readTemplate = (client: Client): Promise<TemplateSeen> =>
  client.get<TemplateSeen>(pathOf('templates', templateName))

const imageOf = (version: string): string => `${templateName}-${version}`

/** Imports the image of a version, if missing, and makes the template point at the image. */
const point = async (options: ShowTemplateOptions, dir: string, version: string): Promise<void> => {
  const { client, terminal } = options
  const image = imageOf(version)
  if ((await client.find(pathOf('images', image))) === undefined) {
    const file = await writeDemoOva(dir, version)
    await client.post('/v1/images', {
      name: image,
      target,
      file,
      folder,
      pool: 'local',
      network: 'bridge-office',
    })
  }
  await follow(terminal, client, `Importing ${image}`, async () => {
    const { state, error } = await client.get<{ state: string; error: TemplateSeen['error'] }>(
      pathOf('images', image),
    )
    return { isOver: state === 'ready', trouble: state === 'failed' ? error : null }
  })
  const made = await client.find(pathOf('templates', templateName))
  if (made === undefined)
    await client.post('/v1/templates', { name: templateName, target, folder, image, grace_seconds: 60 })
  else await client.post(pathOf('templates', templateName, ':update'), { image })
  await follow(terminal, client, `Swapping ${templateName} to ${image}`, async () => {
    const seen = await readTemplate(client)
    return { isOver: seen.state === 'live' && seen.image_live === image, trouble: troubleOf(seen) }
  })
}

const troubleOf = ({ state, error, message }: TemplateSeen): TemplateSeen['error'] =>
  state === 'conflict' ? (error ?? { message, remedy: '' }) : null

interface Looked {
  readonly isOver: boolean
  readonly trouble: TemplateSeen['error']
}

const follow = async (
  terminal: Terminal,
  client: Client,
  what: string,
  look: () => Promise<Looked>,
): Promise<void> => {
  const endMs = performance.now() + waitLimitMs
  for (;;) {
    terminal.live(`${what} ...`)
    const { isOver, trouble } = await look()
    if (trouble) throw new Error(`${trouble.message} ${trouble.remedy}`.trimEnd())
    if (isOver) return terminal.live('')
    if (performance.now() > endMs) throw new Error(`${what} takes longer than ${waitLimitMs / 1_000} s.`)
    await client.sleep(lookMs)
  }
}

interface VersionSeen {
  readonly number: number
  readonly image: string
  readonly state: string
  readonly swap_ms: number | null
  readonly gap_ms: number | null
}

const endLines = async (client: Client): Promise<string[]> => {
  const { items } = await client.get<{ items: readonly VersionSeen[] }>(
    pathOf('templates', templateName, 'versions'),
  )
  return templateEndLines(await readTemplate(client), items)
}

/** The state of the template, and the next command to try. Pure. */
export const templateEndLines = (
  {
    state,
    message,
    image_live: live,
    version_live: at,
    version_wanted: wanted,
  }: Pick<TemplateSeen, 'state' | 'message' | 'image_live' | 'version_live' | 'version_wanted'>,
  versions: readonly VersionSeen[],
): string[] => {
  const current = versions.find(({ number }) => number === at)
  // The newest first: of several versions with the same image that is enough.
  const kept = versions.filter(
    ({ state, image }, index) =>
      state === 'kept' &&
      image !== live &&
      !versions.slice(0, index).some((newer) => newer.state === 'kept' && newer.image === image),
  )
  const drover = droverCommand()
  return [
    live === null
      ? `Template ${templateName}: ${message}`
      : `Template ${templateName} points at ${live} (version ${at})${current ? swapText(current) : ''}.`,
    ...((state === 'live' && at === wanted) || live === null ? [] : [`  ${message}`]),
    ...kept.map(({ number, image }) => `  Version ${number} (${image}) is kept for a rollback.`),
    `  ${drover} templates rollback ${templateName}`,
  ]
}

const swapText = ({ swap_ms: swap, gap_ms: gap }: VersionSeen): string =>
  swap === null ? '' : `, swapped in ${(swap / 1_000).toFixed(1)} s; its name was away for ${gap ?? 0} ms`

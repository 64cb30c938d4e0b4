import { withoutUserinfo } from '../process/log.ts'

export interface BannerFacts {
  readonly address: string
  /** Only right after it was made. */
  readonly token: string | undefined
  readonly presetToken: boolean
  readonly dataDir: string
  readonly embedded: boolean
  readonly databaseUrl: string
  readonly redisUrl: string | undefined
  /** Whether a lab is among what runs. */
  readonly lab: boolean
  readonly workers: number
  readonly supervisor: number
  readonly startedMs: number
}

/** What a person needs after a start, in the order of need. */
export const bannerLines = (facts: BannerFacts): string[] => {
  const where = place(facts.databaseUrl)
  const rows: [string, string][] = [
    ['Console', facts.address],
    ['API', `${facts.address}/docs`],
    ['Queues', `${facts.address}/queues`],
    ['Token', tokenText(facts)],
    ['Data', facts.dataDir],
    ['Database', facts.embedded ? `embedded Postgres at ${where}` : `Postgres at ${where}`],
    [
      'Bell',
      facts.redisUrl === undefined ? 'BullMQ on Postgres' : `BullMQ on Redis at ${place(facts.redisUrl)}`,
    ],
    [
      'Running',
      `api, conductor, ${facts.workers} worker${facts.workers === 1 ? '' : 's'}${facts.lab ? ', lab' : ''} (supervisor ${facts.supervisor})`,
    ],
  ]
  return [
    '',
    `Drover is up after ${(facts.startedMs / 1_000).toFixed(1)} s. Ctrl-C drains and stops it.`,
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
    ...(facts.token === undefined
      ? []
      : ['', '  The token is shown this once: keep it. It opens everything.']),
    '',
  ]
}

const tokenText = (facts: BannerFacts): string => {
  if (facts.token !== undefined) return facts.token
  if (facts.presetToken) return 'the one in DROVER_ADMIN_TOKEN'
  return 'as shown at the first start (lost: start once with a new DROVER_ADMIN_TOKEN)'
}

const place = (url: string): string => {
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname === '/' ? '' : pathname}`
  } catch {
    return withoutUserinfo(url)
  }
}

import { z } from 'zod'

/** The state of a guest before its source was switched off, compared with the target. */
export interface Baseline {
  readonly agent: 'running' | 'not-running' | 'not-installed' | 'unknown'
  readonly hostname: string
  readonly addresses: readonly { readonly mac: string; readonly address: string }[]
  /** Ports that were checked. */
  readonly ports: readonly { readonly port: number; readonly open: boolean }[]
}

const keptSchema = z.object({
  guest: z
    .object({
      agent: z.enum(['running', 'not-running', 'not-installed', 'unknown']),
      hostname: z.string(),
      addresses: z.array(z.object({ mac: z.string(), address: z.string() })),
    })
    .nullable(),
  asked_ports: z.array(z.int()),
  open_ports: z.array(z.int()).nullable(),
})

/** The stored baseline of an entry; null: the source was off, or could not be looked at. */
export const readBaseline = (kept: unknown): Baseline | null => {
  const parsed = keptSchema.nullable().parse(kept)
  if (!parsed?.guest) return null
  const open = parsed.open_ports
  return {
    ...parsed.guest,
    ports: open ? parsed.asked_ports.map((port) => ({ port, open: open.includes(port) })) : [],
  }
}

import { execFileSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'

export const say = (line = ''): void => void process.stdout.write(`${line}\n`)

export interface Bar {
  readonly name: string
  readonly measured: number
  readonly bar: number
  /** Whether more is better. */
  readonly atLeast: boolean
  readonly unit: string
}

/** One line for one bar of the design; nothing fails here, whoever reads decides. */
export const sayBar = (bar: Bar): void => {
  const pass = bar.atLeast ? bar.measured >= bar.bar : bar.measured <= bar.bar
  const sign = bar.atLeast ? '>=' : '<='
  const measured = `${shortNumber(bar.measured)}${bar.unit}`
  say(`BAR ${bar.name} ${measured} ${sign}${bar.bar}${bar.unit} ${pass ? 'pass' : 'miss'}`)
}

export const shortNumber = (value: number): string => {
  if (Number.isInteger(value)) return String(value)
  if (Math.abs(value) >= 100) return value.toFixed(0)
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/** Prints what the numbers depend on. */
export const sayMachine = (versions: Readonly<Record<string, string>>): void => {
  const [cpu] = cpus()
  say(`machine   ${cpu?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${gib(totalmem())} GiB`)
  say(
    `load      ${loadavg()
      .map((value) => value.toFixed(1))
      .join(' ')} when the run began (others slow us down)`,
  )
  const all = { kernel: kernel(), node: process.version, ...versions }
  say(
    `versions  ${Object.entries(all)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  )
}

export const saySettings = (settings: Readonly<Record<string, unknown>>): void => {
  say(
    `settings  ${Object.entries(settings)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' ')}`,
  )
}

export const saySection = (title: string): void => {
  say()
  say(`== ${title}`)
}

/** Columns as wide as their longest cell; the first to the left, the others to the right. */
export const sayTable = (rows: readonly (readonly string[])[]): void => {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length)
    })
  for (const row of rows)
    say(
      row
        .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
}

const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(0)

const kernel = (): string => {
  try {
    return execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim()
  } catch {
    return process.platform
  }
}

import type { Baseline } from './baseline.ts'

/** One check of a target, with its result. */
export interface VerifyCheck {
  /** Stable: `agent`, `port-443`, `disk-4000`. */
  readonly name: string
  readonly expected: string
  readonly observed: string
  /**
   * `differs`: changed, which alone proves nothing wrong. `not-asked`: there is nothing to compare with, which is
   * reported rather than left out.
   */
  readonly result: 'passed' | 'failed' | 'differs' | 'not-asked'
  /** The batch's probes that ask for this check, if any. */
  readonly probes?: readonly string[]
}

export interface GuestSeen {
  readonly agent: Baseline['agent']
  readonly hostname: string
  readonly addresses: Baseline['addresses']
  /** Of the requested ports, those that answer. */
  readonly open: readonly number[]
}

/** Compares a started target with the baseline of its source: a missing agent and a closed port are failures. */
export const checkGuest = (
  baseline: Baseline | null,
  seen: GuestSeen,
  ports: readonly number[],
  probes: ReadonlyMap<number, readonly string[]> = new Map(),
): VerifyCheck[] => {
  const agent = checkAgent(baseline, seen)
  const talks = seen.agent === 'running'
  return [
    agent,
    compared('hostname', talks ? baseline?.hostname : undefined, seen.hostname),
    ...checkAddresses(talks ? baseline : null, seen),
    ...ports.map((port) => {
      const names = probes.get(port)
      return { ...checkPort(baseline, port, seen.open.includes(port)), ...(names ? { probes: names } : {}) }
    }),
  ]
}

const checkAgent = (baseline: Baseline | null, { agent }: GuestSeen): VerifyCheck => {
  const wanted = baseline?.agent === 'running'
  const result = !wanted ? 'not-asked' : agent === 'running' ? 'passed' : 'failed'
  return { name: 'agent', expected: wanted ? 'running' : '', observed: agent, result }
}

const compared = (name: string, expected: string | undefined, observed: string): VerifyCheck => {
  if (expected === undefined || expected === '') return { name, expected: '', observed, result: 'not-asked' }
  return { name, expected, observed, result: expected === observed ? 'passed' : 'differs' }
}

/** Per network card: a new address matters as much as a missing one. */
const checkAddresses = (baseline: Baseline | null, seen: GuestSeen): VerifyCheck[] => {
  if (!baseline) return []
  const listed = (addresses: Baseline['addresses'], mac: string) =>
    addresses
      .filter((one) => one.mac === mac)
      .map(({ address }) => address)
      .sort()
      .join(' ')
  const macs = [...new Set([...baseline.addresses, ...seen.addresses].map(({ mac }) => mac))].sort()
  return macs.map((mac) => {
    const [expected, observed] = [listed(baseline.addresses, mac), listed(seen.addresses, mac)]
    return {
      name: `addresses-${mac}`,
      expected,
      observed,
      result: expected === observed ? 'passed' : 'differs',
    }
  })
}

const checkPort = (baseline: Baseline | null, port: number, open: boolean): VerifyCheck => {
  const before = baseline?.ports.find((one) => one.port === port)
  const observed = open ? 'open' : 'closed'
  const name = `port-${port}`
  if (!before) return { name, expected: '', observed, result: 'not-asked' }
  const expected = before.open ? 'open' : 'closed'
  return {
    name,
    expected,
    observed,
    result: expected === observed ? 'passed' : before.open ? 'failed' : 'differs',
  }
}

export const failedChecks = (checks: readonly VerifyCheck[]): VerifyCheck[] =>
  checks.filter(({ result }) => result === 'failed')

/** A guest that still boots may answer later: whether to look again. */
export const mayStillComeUp = (checks: readonly VerifyCheck[]): boolean => failedChecks(checks).length > 0

import { canonicalMac } from '../../domain/inventory/addresses.ts'
import { type NetworkPlacement, networkOverridesSchema, nicTypes } from '../../domain/inventory/overrides.ts'
import { nameSchema } from '../../domain/job/kind.ts'
import type { ScriptPlacement } from '../../domain/migration/batch/merge-placement.ts'
import { scriptLimits } from './script-limits.ts'
import type { ScriptAsk } from './script-types.ts'

/** The calls that a script can make, and the names of the same calls in other tools. */
export const builtins = {
  setTarget: 'setTarget',
  setProject: 'setProject',
  setPool: 'setPool',
  setNetwork: 'setNetwork',
  log: 'log',
  set_target: 'setTarget',
  set_project: 'setProject',
  set_pool: 'setPool',
  set_network: 'setNetwork',
  log_info: 'log',
  log_warn: 'log',
  log_error: 'log',
} as const

export type BuiltinName = keyof typeof builtins

/** An argument as it left the interpreter: plain data only, with no code of the script behind it. */
export type ScriptValue =
  | string
  | number
  | undefined
  | { readonly type: 'boolean' | 'object' | 'function' | 'symbol' | 'bigint' }

/** Arguments that are wrong: the sentence becomes the script's exception. */
class ArgumentRefusal extends Error {}

/** Collects the calls of one run. */
export class ScriptCalls {
  readonly #ask: ScriptAsk
  readonly #pools = new Map<string, string>()
  readonly #networks = new Map<string, NetworkPlacement>()
  readonly #log: string[] = []
  #target: string | undefined
  #project: string | undefined
  #unlogged = 0

  constructor(ask: ScriptAsk) {
    this.#ask = ask
  }

  /** Carries out a call. Returns what is wrong with the arguments, as a sentence. */
  call(name: string, given: readonly ScriptValue[]): string | undefined {
    try {
      this.#do(name as BuiltinName, given)
      return undefined
    } catch (error) {
      if (error instanceof ArgumentRefusal) return error.message
      throw error
    }
  }

  get placement(): ScriptPlacement {
    return {
      ...(this.#target === undefined ? {} : { target: this.#target }),
      ...(this.#project === undefined ? {} : { project: this.#project }),
      pools: Object.fromEntries(this.#pools),
      networks: Object.fromEntries(this.#networks),
    }
  }

  get log(): readonly string[] {
    return this.#unlogged === 0 ? this.#log : [...this.#log, `(${this.#unlogged} more lines were left out)`]
  }

  #do(name: BuiltinName, given: readonly ScriptValue[]): void {
    switch (builtins[name]) {
      case 'setTarget':
        this.#target = nameOf(name, 'the target', given[0])
        return
      case 'setProject':
        this.#project = nameOf(name, 'the project', given[0])
        return
      case 'setPool':
        this.#setPool(name, given)
        return
      case 'setNetwork':
        this.#setNetwork(name, given)
        return
      case 'log':
        this.#write(name, textOf(given[0]))
    }
  }

  #setPool(name: BuiltinName, [disk, pool]: readonly ScriptValue[]): void {
    const called = wordOf(name, 'the disk', disk)
    const found = this.#ask.disks.find(({ key, label, name: path }) => [key, label, path].includes(called))
    if (!found)
      throw new ArgumentRefusal(
        `${name}: the instance has no disk "${brief(called)}"; it has ${listed(this.#ask.disks.map(({ label, key }) => label || key))}.`,
      )
    if (found.neverCopied !== null)
      throw new ArgumentRefusal(
        `${name}: the disk "${brief(called)}" ${found.neverCopied}: it cannot be copied, so it has no pool.`,
      )
    this.#pools.set(found.key, nameOf(name, 'the pool', pool))
  }

  #setNetwork(name: BuiltinName, [nic, network, type, vlan]: readonly ScriptValue[]): void {
    const called = wordOf(name, 'the MAC address', nic)
    const mac = canonicalMac(called) ?? called
    const found = this.#ask.nics.find((one) => [one.mac, one.key, one.label].includes(mac))
    if (!found || found.mac === '')
      throw new ArgumentRefusal(
        `${name}: the instance has no NIC "${brief(called)}"; it has ${listed(this.#ask.nics.map((one) => one.mac))}.`,
      )
    const asked = vlanOf(name, vlan)
    const parsed = networkOverridesSchema.safeParse({
      network: wordOf(name, 'the network', network),
      nictype: type === undefined || type === '' ? 'managed' : wordOf(name, 'the kind of NIC', type),
      vlan_id: asked,
    })
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      const field = String(issue?.path[0] ?? '')
      const hint = field === 'nictype' ? `Use one of ${nicTypes.join(', ')}.` : issue?.message
      const called = field === 'vlan_id' ? ` "${brief(asked)}"` : ''
      throw new ArgumentRefusal(
        `${name}: ${argumentNames[field] ?? 'an argument'}${called} is not right. ${hint}`,
      )
    }
    const { network: onto = '', nictype = 'managed', vlan_id = '' } = parsed.data
    this.#networks.set(found.mac, { network: onto, nictype, vlan_id })
  }

  #write(name: BuiltinName, line: string): void {
    if (this.#log.length >= scriptLimits.logLines) {
      this.#unlogged += 1
      return
    }
    const level = name === 'log_warn' ? 'warning: ' : name === 'log_error' ? 'error: ' : ''
    this.#log.push(`${level}${bounded(line, scriptLimits.logLineChars)}`)
  }
}

const argumentNames: Readonly<Record<string, string>> = {
  network: 'the network',
  nictype: 'the kind of NIC',
  vlan_id: 'the VLAN',
}

const kindOf = (value: ScriptValue): string => {
  if (value === undefined) return 'nothing'
  const kind = typeof value === 'object' ? value.type : typeof value
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`
}

const wordOf = (name: BuiltinName, what: string, value: ScriptValue): string => {
  if (typeof value === 'string') return value
  throw new ArgumentRefusal(`${name}: ${what} must be a text, not ${kindOf(value)}.`)
}

const nameOf = (name: BuiltinName, what: string, value: ScriptValue): string => {
  const word = wordOf(name, what, value)
  if (nameSchema.safeParse(word).success) return word
  throw new ArgumentRefusal(
    `${name}: "${brief(word)}" is no name for ${what}: use 1 to 63 letters, digits, dots, dashes and underscores.`,
  )
}

const vlanOf = (name: BuiltinName, value: ScriptValue): string => {
  if (value === undefined) return ''
  if (typeof value === 'number') return String(value)
  return wordOf(name, 'the VLAN', value)
}

const textOf = (value: ScriptValue): string => (typeof value === 'string' ? value : '')

const brief = (text: string): string => bounded(text, 100)
const listed = (names: readonly string[]): string =>
  bounded(names.map((one) => `"${one}"`).join(', ') || 'none', 400)

/** Text that Postgres can store, on one line, cut to a length. */
export const bounded = (text: string, chars: number): string => {
  const short = text.length > chars ? `${text.slice(0, chars)}…` : text
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be stored.
  return short.toWellFormed().replace(/[\u0000-\u001f\u007f]+/g, ' ')
}

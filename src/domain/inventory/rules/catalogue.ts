import { factsHash } from '../facts-hash.ts'
import { configurationRules } from './configuration-rules.ts'
import { deviceRules } from './device-rules.ts'
import { diskRules } from './disk-rules.ts'
import { guestRules } from './guest-rules.ts'
import { networkRules } from './network-rules.ts'
import { type Rule, severities } from './rule.ts'

/** Every rule there is: the gravest first, then by name. */
export const rules: readonly Rule[] = [
  ...configurationRules,
  ...deviceRules,
  ...diskRules,
  ...guestRules,
  ...networkRules,
].sort(
  (a, b) =>
    severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
    (a.id < b.id ? -1 : Number(a.id > b.id)),
)

const byId = new Map(rules.map((rule) => [rule.id, rule]))

export const findRule = (id: string): Rule | undefined => byId.get(id)

/** Changes with every rule that comes, goes or says something else, so that an assessment tells what it used. */
export const rulesVersion: string = factsHash(rules.map(({ test: _test, ...data }) => data)).slice(0, 12)

import { rules, rulesVersion } from './catalogue.ts'
import { type Rule, type Severity, severities } from './rule.ts'

const headings: Readonly<Record<Severity, string>> = {
  critical: 'Critical: not migrated as it is',
  warning: 'Warning: migrated, changed or at a risk',
  info: 'Info: good to know',
}

const notes = (rule: Rule): string =>
  [
    ...(rule.waivable ? [] : ['cannot be waived']),
    ...(rule.allowance ? [`a batch may allow it: \`${rule.allowance}\``] : []),
    ...(rule.restriction && rule.severity !== 'critical' ? ['an entry waits for it'] : []),
  ].join('; ')

const table = (severity: Severity): string[] => [
  `## ${headings[severity]}`,
  '',
  '| Rule | What it says | What to do | Notes | Since |',
  '|---|---|---|---|---|',
  ...rules
    .filter((rule) => rule.severity === severity)
    .map((rule) => `| \`${rule.id}\` | ${rule.title} | ${rule.remedy} | ${notes(rule)} | ${rule.since} |`),
  '',
]

/** The page about the rules, made of the rules: docs/rules.md. */
export const describeRules = (): string =>
  [
    '# Eligibility rules',
    '',
    'Written by `npm run docs:rules` from `src/domain/inventory/rules`. Do not edit.',
    '',
    'Every rule that holds for an instance is listed, not the first one. One critical finding makes an instance',
    '`blocked`, one warning makes it `warning`, else it is `ready`. A finding stops counting, and stays listed, when',
    'somebody waives it for that instance (who, why, until when), when the override `ignore_restrictions` is set, or',
    'when its batch allows it. What makes a copy impossible cannot be waived, and `ignore_restrictions` does not',
    'touch it; nor does it touch `disable_migration`. An expired waiver counts for nothing.',
    '',
    `Version of these rules: \`${rulesVersion}\`.`,
    '',
    ...severities.flatMap(table),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')

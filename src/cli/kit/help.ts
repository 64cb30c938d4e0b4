import type { Command } from './command.ts'

type Commands = readonly Command[]

const pad = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`).join('\n')
}

const signature = (command: Command): string =>
  [
    command.name,
    ...(command.args ?? []).map(({ name, optional, many }) => {
      const shown = many ? `${name}…` : name
      return optional ? `[${shown}]` : `<${shown}>`
    }),
  ].join(' ')

const builtIn: readonly (readonly [string, string])[] = [
  ['completion <shell>', 'a script for bash, zsh or fish: source <(drover completion bash)'],
  ['help [command]', 'this, or all about one command'],
  ['version', 'the version of this code'],
]

/** `drover help`. */
export const overviewHelp = (
  commands: Commands,
  roles: Readonly<Record<string, string>>,
): string => `Usage: drover <command> [options]

Run a part of Drover here:
${pad(Object.entries(roles))}

Ask a running Drover (--json for programs, --help for the options of each):
${pad(commands.map((command) => [signature(command), command.summary] as const))}

${pad(builtIn)}

Where it is and who you are:
${pad([
  ['DROVER_URL', 'the address of the API; else the npm start of this machine, on its socket'],
  ['DROVER_TOKEN', 'your token; or DROVER_TOKEN_FILE, a file that holds it'],
  ['', "on the machine of npm start neither is needed for an operator's work"],
  ['--insecure-http', 'send the token over plain HTTP beyond this machine (DROVER_INSECURE_HTTP=1)'],
])}

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 not reachable or not allowed, 4 not proved, 5 another key.
`

/** `drover help jobs list`, or `drover jobs list --help`. */
export const commandHelp = (command: Command): string => {
  const options: [string, string][] = Object.entries(command.options ?? {}).map(([name, option]) => [
    `${option.short ? `-${option.short}, ` : ''}--${name}${option.type === 'string' ? ` <${option.value ?? 'text'}>` : ''}`,
    option.choices ? `${option.summary}: ${option.choices.join(', ')}` : option.summary,
  ])
  const args = (command.args ?? []).map((arg): [string, string] => [`<${arg.name}>`, arg.summary])
  return `${command.summary}.

Usage: drover ${signature(command)}${options.length > 0 ? ' [options]' : ''}

${pad([...args, ...options, ['--json', 'the answer as JSON'], ['-h, --help', 'this']])}
`
}

/** What a noun can be followed by, when a person gave the noun alone. */
export const nounHelp = (commands: Commands, noun: string): string | undefined => {
  const verbs = commands.filter((command) => command.name.startsWith(`${noun} `))
  if (verbs.length === 0) return undefined
  return `${pad(verbs.map((command) => [`drover ${signature(command)}`, command.summary] as const))}\n`
}

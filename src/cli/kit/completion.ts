import type { Command } from './command.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/**
 * A completion script, made from the commands as they are. It offers words, options and the values that an
 * option takes; it never asks the API, so that a key press cannot hang.
 */
export const completionScript = (
  shell: Shell,
  commands: readonly Command[],
  words: readonly string[],
): string => {
  if (shell === 'fish') return fishScript(commands, words)
  const script = bashScript(commands, words)
  return shell === 'zsh' ? `autoload -U +X bashcompinit && bashcompinit\n${script}` : script
}

const optionsOf = (command: Command): string[] => [
  ...Object.keys(command.options ?? {}).map((name) => `--${name}`),
  '--json',
  '--insecure-http',
  '--help',
]

/** What may follow each beginning: '' and, for nouns, the noun. */
const followers = (commands: readonly Command[], words: readonly string[]): Map<string, string[]> => {
  const map = new Map<string, string[]>([['', [...words]]])
  for (const { name } of commands) {
    const [noun = '', verb] = name.split(' ')
    const first = map.get('') ?? []
    if (!first.includes(noun)) first.push(noun)
    if (verb !== undefined) map.set(noun, [...(map.get(noun) ?? []), verb])
  }
  return map
}

const choicesOf = (commands: readonly Command[]): [string, readonly string[]][] =>
  commands.flatMap((command) =>
    Object.entries(command.options ?? {}).flatMap(([name, option]): [string, readonly string[]][] =>
      option.choices ? [[`${command.name} --${name}`, option.choices]] : [],
    ),
  )

const bashScript = (commands: readonly Command[], words: readonly string[]): string => {
  const cases = [
    ...choicesOf(commands).map(([key, choices]) => `    "${key}") words="${choices.join(' ')}" ;;`),
    ...[...followers(commands, words)].map(([key, next]) => {
      const own = commands.find((command) => command.name === key)
      return `    "${key}") words="${[...next, ...(own ? optionsOf(own) : [])].join(' ')}" ;;`
    }),
    ...commands
      .filter(({ name }) => !followers(commands, []).has(name))
      .map((command) => `    "${command.name}") words="${optionsOf(command).join(' ')}" ;;`),
  ]
  return `_drover() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" key="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) break ;; esac
    case "$key $word" in ${nounsPattern(commands)}) key="\${key:+$key }$word" ;; esac
  done
  case "$before" in --*) case "$key $before" in ${choicePattern(commands)}) key="$key $before" ;; esac ;; esac
  case "$key" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _drover drover
`
}

/** Every beginning of a command, so that an argument is never taken for a verb. */
const nounsPattern = (commands: readonly Command[]): string => {
  const keys = new Set(
    commands.flatMap(({ name }) => {
      const [noun = '', verb] = name.split(' ')
      return verb === undefined ? [` ${noun}`] : [` ${noun}`, `${noun} ${verb}`]
    }),
  )
  return [...keys].map((key) => `"${key}"`).join('|')
}

const choicePattern = (commands: readonly Command[]): string =>
  choicesOf(commands)
    .map(([key]) => `"${key}"`)
    .join('|')

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const fishScript = (commands: readonly Command[], words: readonly string[]): string => {
  const lines = ['complete -c drover -f']
  const add = (when: string, rest: string) => lines.push(`complete -c drover -n ${quoted(when)} ${rest}`)
  for (const [noun, next] of followers(commands, words))
    add(
      noun === ''
        ? '__fish_use_subcommand'
        : `__fish_seen_subcommand_from ${noun}; and test (count (commandline -opc)) -eq 2`,
      `-a ${quoted(next.join(' '))}`,
    )
  for (const command of commands) {
    const when = command.name
      .split(' ')
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')
    for (const [name, option] of Object.entries(command.options ?? {})) {
      const takes = option.type === 'string' ? ' -x' : ''
      const values = option.choices ? ` -a ${quoted(option.choices.join(' '))}` : ''
      add(when, `-l ${name}${takes}${values} -d ${quoted(option.summary)}`)
    }
  }
  return `${lines.join('\n')}\ncomplete -c drover -l json -d 'the answer as JSON'\ncomplete -c drover -l insecure-http -d 'the token over plain HTTP'\n`
}

import { parseArgs } from 'node:util'
import { version } from '../config/config.ts'
import { saidBeside } from '../domain/text/sentence.ts'
import { Terminal } from '../print/terminal.ts'
import { commands, roles } from './commands.ts'
import { ApiRefusal, Client, Unreachable } from './kit/client.ts'
import { type Command, exitCodes, type Io, type Options, UsageError, type Values } from './kit/command.ts'
import { completionScript, type Shell, shells } from './kit/completion.ts'
import { type Connection, readConnection } from './kit/connection.ts'
import { commandHelp, nounHelp, overviewHelp } from './kit/help.ts'
import { Output } from './kit/output.ts'

/** Ctrl-C, as shells count it. */
const interrupted = 130

/** Runs one command line (without `node` and the program); the promise is its exit code and never rejects. */
export const runCli = async (args: readonly string[], io: Io): Promise<number> => {
  try {
    return await dispatch(args, io)
  } catch (thrown) {
    if (io.signal.aborted) return interrupted
    const { lines, code } = explain(thrown, findCommand(args)?.command.options)
    const terminal = new Terminal(io.stderr)
    for (const line of lines) terminal.line(line)
    return code
  }
}

const dispatch = async (args: readonly string[], io: Io): Promise<number> => {
  const [word = 'help', ...rest] = args
  if (word === 'help' || word === '--help' || word === '-h') return help(rest, io)
  if (word === 'version' || word === '--version') {
    new Terminal(io.stdout).line(version)
    return exitCodes.ok
  }
  if (word === 'completion') return completion(rest, io)
  const found = findCommand(args)
  if (!found && rest.length > 0 && rest.every((flag) => flag === '--help' || flag === '-h'))
    return help([word], io)
  if (!found) throw unknown(args)
  const { command, rest: own } = found
  const { values, positionals } = parse(command, own)
  if (values.help) {
    new Terminal(io.stdout).lines(commandHelp(command))
    return exitCodes.ok
  }
  requireArguments(command, positionals)
  requireOptions(command, values)
  const output = new Output(io, values.json === true)
  const client = new Client(connecting(io, output, values['insecure-http'] === true), io.signal)
  return (await command.run({ args: positionals, values, client, output, io })) ?? exitCodes.ok
}

/** Finds the API before each request, and warns before the first of what is not safe about it. */
const connecting = (io: Io, output: Output, insecureHttp: boolean): (() => Connection) => {
  let warned = false
  return () => {
    const connection = readConnection(io.env, { insecureHttp })
    if (connection.warning !== undefined && !warned) output.warn(connection.warning)
    warned = true
    return connection
  }
}

/** The command with the most words that the line begins with. */
const findCommand = (args: readonly string[]): { command: Command; rest: string[] } | undefined => {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ')
    const command = commands.find((candidate) => candidate.name === name)
    if (command) return { command, rest: args.slice(length) }
  }
  return undefined
}

const help = (words: readonly string[], io: Io): number => {
  const found = words.length === 0 ? undefined : findCommand(words)
  const text =
    words.length === 0
      ? overviewHelp(commands, roles)
      : found
        ? commandHelp(found.command)
        : nounHelp(commands, words[0] ?? '')
  if (text === undefined) throw unknown(words)
  new Terminal(io.stdout).lines(text)
  return exitCodes.ok
}

const completion = ([shell]: readonly string[], io: Io): number => {
  if (!(shells as readonly (string | undefined)[]).includes(shell))
    throw new UsageError(`Which shell? drover completion ${shells.join('|')}`)
  new Terminal(io.stdout).lines(
    completionScript(shell as Shell, commands, [...Object.keys(roles), 'completion', 'help', 'version']),
  )
  return exitCodes.ok
}

const unknown = (args: readonly string[]): UsageError => {
  const verbs = nounHelp(commands, args[0] ?? '')
  if (verbs !== undefined)
    return new UsageError(
      `${args[1] === undefined || args[1].startsWith('-') ? `"${args[0]}" needs a verb` : `There is no "${args[0]} ${args[1]}"`}:`,
      ...verbs.trimEnd().split('\n'),
    )
  return new UsageError(`There is no command "${args[0]}". Try: drover help`)
}

const parse = (command: Command, args: string[]): { values: Values; positionals: string[] } => {
  const options = Object.fromEntries(
    Object.entries(command.options ?? {}).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), ...(multiple === undefined ? {} : { multiple }) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        ...options,
        json: { type: 'boolean' },
        'insecure-http': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    return { values: values as Values, positionals }
  } catch (error) {
    const [first = ''] = (error as Error).message.split(/\.\s/)
    throw new UsageError(`${first}. Try: drover ${command.name} --help`)
  }
}

const requireArguments = (command: Command, given: readonly string[]): void => {
  const wanted = command.args ?? []
  const missing = wanted.filter((arg, at) => !arg.optional && !given[at]).map((arg) => `<${arg.name}>`)
  if (missing.length > 0)
    throw new UsageError(
      `drover ${command.name} needs ${missing.join(' and ')}. Try: drover ${command.name} --help`,
    )
  if (given.length > wanted.length && !wanted.at(-1)?.many)
    throw new UsageError(
      `drover ${command.name} does not take "${given[wanted.length]}". Try: drover ${command.name} --help`,
    )
}

const requireOptions = ({ options = {} }: Command, values: Values): void => {
  for (const [name, { choices, required }] of Object.entries(options)) {
    const value = values[name]
    if (choices && typeof value === 'string' && !choices.includes(value))
      throw new UsageError(`--${name} must be one of ${choices.join(', ')}, not "${value}".`)
    if (required !== undefined && value === undefined)
      throw new UsageError(`--${name} is required${required === '' ? '' : `: ${required}`}.`)
  }
}

/** A refusal that names what the person typed: the option, where the API names its field. */
const asTyped = ({ message, errors }: ApiRefusal, options: Options) => {
  const nameOf = (field: string): string => {
    const own = field.replace(/^params\./, '')
    const found = Object.entries(options).find(
      ([name, of]) => (of.field ?? name.replaceAll('-', '_')) === own,
    )
    return found ? `--${found[0]}` : field
  }
  const [first] = errors
  const named = first?.field && message.startsWith(`${first.field}: `)
  return {
    message: named ? `${nameOf(first.field)}${message.slice(first.field.length)}` : message,
    errors: errors.map(({ field, message: said }) => ({ field: nameOf(field), message: said })),
  }
}

/** What went wrong as lines for a person: what happened, then what to do. */
const explain = (thrown: unknown, options: Options = {}): { lines: string[]; code: number } => {
  if (thrown instanceof UsageError) return { lines: [thrown.message, ...thrown.more], code: exitCodes.usage }
  if (thrown instanceof Unreachable)
    return { lines: [thrown.message, thrown.remedy], code: exitCodes.unreachable }
  if (thrown instanceof ApiRefusal) {
    const { message, errors } = asTyped(thrown, options)
    const fields = saidBeside(message, errors).map((line) => `  ${line}`)
    // A wrong filter is shown with a caret below the mistake: its blanks count.
    const [said = '', ...drawn] = thrown.code === 'filter-invalid' ? message.split('\n') : [message]
    const lines = [`${said} (${thrown.code})`, ...drawn, ...fields, thrown.remedy]
    const notAllowed = thrown.status === 401 || thrown.status === 403
    return { lines, code: notAllowed ? exitCodes.unreachable : exitCodes.failed }
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return {
    lines: [...(error.stack ?? error.message).split('\n'), 'This is a defect in Drover.'],
    code: exitCodes.failed,
  }
}

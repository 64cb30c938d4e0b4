import { readFileSync } from 'node:fs'
import { DroverError } from '../errors.ts'
import { parseHead, type SealHead } from '../seal/seal-head.ts'
import { whyUnreadable } from '../unreadable.ts'

const plainHead = /^(\d{1,15}):([0-9a-f]{64})$/

/** What `drover repair-seals` is given: `--head <line or file>`, as often as wanted, or `--without-head`. */
export const headsGiven = (args: readonly string[]): readonly SealHead[] | 'none' => {
  if (args.length === 1 && args[0] === '--without-head') return 'none'
  const heads: SealHead[] = []
  for (let at = 0; at < args.length; at += 2) {
    const value = args[at + 1]
    if (args[at] !== '--head' || value === undefined)
      throw wrong('It takes --head <line or file>, or --without-head, and nothing else.')
    heads.push(...headsIn(value))
  }
  return heads
}

/** All lines of a file count: a head is against a repair whichever line it is in. */
const headsIn = (given: string): SealHead[] => {
  const isLine = /^(\d+:|drover-head-)/.test(given)
  const lines = (isLine ? given : textOf(given)).split('\n').map((line) => line.trim())
  const heads = lines.filter((line) => line !== '').map((line) => readHead(line))
  if (heads.length === 0) throw wrong(`There is no head in ${given}.`)
  return heads
}

const readHead = (line: string): SealHead => {
  const signed = parseHead(line)
  if (signed) return { seq: signed.seq, hash: signed.hash }
  const [, seq, hash] = plainHead.exec(line) ?? []
  if (seq === undefined || hash === undefined) throw wrong(`This is no whole head: ${line.slice(0, 200)}`)
  return { seq: Number(seq), hash }
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw wrong(`${path} cannot be read: ${whyUnreadable(error)}.`)
  }
}

const wrong = (message: string): DroverError =>
  new DroverError({
    code: 'validation-failed',
    class: 'config',
    message,
    remedy:
      'A head is one line as it was handed out (webhook, log of the conductor, DROVER_SEAL_HEADS_FILE), or <number>:<hash>.',
    field: 'head',
  })

import { bytes } from '../../../domain/text/bytes.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, exitCodes, flag, number, type Options, text } from '../../kit/command.ts'
import { yesOption } from '../../kit/confirm.ts'
import type { Output } from '../../kit/output.ts'
import { codeOf } from '../../kit/rows.ts'
import { errorLines, untilEnded } from '../../kit/wait.ts'

export const waitOptions: Options = {
  wait: flag('wait until it is done; exit code 1 when it is not'),
}

/** Where objects are made on a target. */
export const placeOptions: Options = {
  project: text('name', 'the project on the target'),
  pool: text('name', 'where disks are put'),
  host: text('name', 'the host that takes it in'),
  network: text('name', 'what its network cards are connected to'),
}

export const destroyOptions: Options = {
  destroy: flag('also destroy what it has on targets; otherwise that stays there'),
  confirm: number('with --destroy: how many objects that are; refused when there are more or fewer'),
  yes: yesOption,
}

interface Followed {
  /** What was committed, as the API has answered. */
  readonly begun: Json
  readonly said: string
  readonly path: string
  readonly isDone: (now: Json) => boolean
  readonly print: (output: Output, now: Json) => void
}

/** After a 202: says what was committed, or follows its job to the end and shows what has become of it. */
export const followJob = async (call: Call, followed: Followed): Promise<number> => {
  const { client, output } = call
  const { begun, said, path, isDone, print } = followed
  if (call.values.wait !== true) {
    output.show(begun, () => output.line(said))
    return exitCodes.ok
  }
  output.note(said)
  const job = await untilEnded(call, String(begun.job_id), bytes)
  const now = await client.get(path)
  output.show(now, () => {
    print(output, now)
    // What was printed says the error that the resource has.
    const lines = isDone(now) || now.error ? [] : errorLines(job.error)
    if (lines.length > 0) output.fields(lines)
  })
  return codeOf(isDone(now))
}

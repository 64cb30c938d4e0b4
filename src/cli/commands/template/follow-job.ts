import { bytes } from '../../../domain/text/bytes.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, exitCodes, flag, number, type Options, text } from '../../kit/command.ts'
import { confirmCount, yesOption } from '../../kit/confirm.ts'
import type { Output } from '../../kit/output.ts'
import { anyVersion, codeOf } from '../../kit/rows.ts'
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
  /** The answer of the API. */
  readonly begun: Json
  readonly said: string
  readonly path: string
  readonly isDone: (now: Json) => boolean
  readonly print: (output: Output, now: Json) => void
}

/** After a 202: prints the committed request, or follows its job to the end and shows the result. */
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

/** Deletes a resource, and with `--destroy` its objects once their number is confirmed. */
export const removeWithObjects = async (
  call: Call,
  path: string,
  say: (jobs: readonly string[]) => string,
): Promise<number> => {
  const { client, output, args, values } = call
  const destroy = values.destroy === true
  const reply = await confirmCount(call, (confirmed) =>
    client.ask('DELETE', path, { headers: anyVersion, query: { destroy, confirm_destroy: confirmed } }),
  )
  const jobs = (reply.body?.jobs as string[] | undefined) ?? []
  output.show({ name: args[0], deleted: true, jobs }, () => output.line(say(jobs)))
  return exitCodes.ok
}

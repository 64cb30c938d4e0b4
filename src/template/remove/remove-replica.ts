import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { endReplica, findReplica } from '../../../db/queries/templates/replica-rows.ts'
import type { ImageReplicaRow } from '../../../db/schema/template.ts'
import { DroverError } from '../../errors.ts'
import { installationId } from '../../ledger/installation.ts'
import { actorOf, callBy, done, type JobContext, type Outcome } from '../../ledger/job.ts'
import { finishTask } from '../../ledger/platform-task.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { TemplatesPort } from '../../platforms/ports/templates.ts'
import { requireOurs } from './our-object.ts'

const callMs = 30_000
const taskMs = 60_000

/** Destroys the object of a replica that a person has deleted: by the recorded ref, and only if it carries our tag. */
export const removeReplica = async (ctx: JobContext, replicaId: string): Promise<Outcome> => {
  const replica = await findReplica(ctx.db, replicaId)
  if (!replica || replica.state === 'gone') return done({ removed: false })
  if (replica.state !== 'removing') throw inUse(replica)
  const { ref, targetId } = replica
  const target = await loadSiteById(ctx.db, targetId)
  if (target && ref !== null)
    await ctx.usePlatform(target, (platform) =>
      destroy(ctx, { templates: portOf(platform, 'templates'), target: target.name, replica, ref }),
    )
  return done({ removed: true }, { change: (tx) => endReplica(tx, replica, actorOf(ctx)) })
}

interface Destroyed {
  readonly templates: TemplatesPort
  readonly target: string
  readonly replica: ImageReplicaRow
  readonly ref: string
}

const destroy = async (ctx: JobContext, of: Destroyed): Promise<void> => {
  const { templates, target, ref } = of
  const ours = { imageId: of.replica.imageId, target, installation: await installationId(ctx.db) }
  const look = (call = callBy(ctx, 'look', callMs)) => again(call, () => templates.template(call, ref))
  const first = await look()
  if (!first.found) return
  requireOurs(first.value, ours)
  await finishTask(ctx, {
    part: 'destroy',
    kind: 'template-destroy',
    // A removal is not undone.
    undo: null,
    platform: target,
    tasks: templates,
    machine: ref,
    verb: 'destroy',
    turnMs: taskMs,
    begin: async (call) => {
      const found = await look(call)
      if (!found.found) return undefined
      requireOurs(found.value, ours)
      // The lease may have ended during the look.
      ctx.confirm()
      return templates.destroyTemplate(call, ref)
    },
    made: async (call) => ((await look(call)).found ? { found: false } : { found: true, value: null }),
  })
}

const inUse = ({ id, state }: ImageReplicaRow): DroverError =>
  new DroverError({
    code: 'replica-in-use',
    class: 'conflict',
    message: `The copy ${id} is ${state}: its removal was not requested.`,
    remedy: 'Delete its image or forget its template, with destroy=true.',
  })

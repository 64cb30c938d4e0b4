import { removeReplica as kind } from '../../src/domain/job/kinds/remove-replica.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import { removeReplica } from '../../src/template/remove/remove-replica.ts'

/** Destroys an object that holds an image. */
export const handleRemoveReplica = defineHandler(kind, (ctx) => removeReplica(ctx, ctx.payload.replica_id))

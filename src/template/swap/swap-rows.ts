import { settleEffect } from '../../../db/queries/effects/effects.ts'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { findShownImage } from '../../../db/queries/templates/list-images.ts'
import {
  findReplica,
  findShelfReplica,
  insertReplica,
  listReplicasOfTemplate,
  writeReplica,
} from '../../../db/queries/templates/replica-rows.ts'
import * as swap from '../../../db/queries/templates/swap-rows.ts'
import {
  findTemplateById,
  lockTemplateById,
  moveTemplate,
  noteTemplate,
} from '../../../db/queries/templates/template-rows.ts'
import {
  findVersion,
  makeVersionLive,
  retireVersion,
} from '../../../db/queries/templates/template-versions.ts'
import { installationId } from '../../ledger/installation.ts'
import { sendSwap } from '../ask/template-jobs.ts'

/**
 * All reads and writes of a swap in Postgres. A parameter, so that a simulation runs thousands of swaps without
 * Postgres.
 */
export const postgresRows = {
  ...swap,
  ...{ findTemplateById, lockTemplateById, moveTemplate, noteTemplate },
  ...{ findVersion, makeVersionLive, retireVersion },
  ...{ findReplica, findShelfReplica, insertReplica, listReplicasOfTemplate, writeReplica },
  ...{ findImage: findShownImage, loadSiteById, installationId, settleEffect, sendSwap },
}

export type SwapRows = typeof postgresRows

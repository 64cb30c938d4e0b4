import { importOva as kind } from '../../src/domain/job/kinds/import-ova.ts'
import { defineHandler } from '../../src/ledger/job.ts'
import { importKind, undoImport } from '../../src/template/import/import-image.ts'
import { importOva } from '../../src/template/import/import-ova.ts'
import type { ImportImage } from '../../src/template/swap/swap-work.ts'

/** Imports an image to the shelf of a target. */
export const handleImportOva = (importImage: ImportImage) =>
  defineHandler(kind, (ctx) => importOva(ctx, importImage), { [importKind]: undoImport })

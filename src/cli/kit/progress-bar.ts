import { spanText } from './output.ts'

const width = 24

/** `[##########··········]  40/100  12.3/s  ETA 5 s` */
export const progressBar = (done: number, total: number, elapsedMs: number): string => {
  const filled = total === 0 ? width : Math.min(width, Math.floor((done / total) * width))
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1_000 : 0
  const eta = rate > 0 && done < total ? `  ETA ${spanText(((total - done) / rate) * 1_000)}` : ''
  return `[${'#'.repeat(filled)}${'·'.repeat(width - filled)}]  ${done}/${total}  ${rate.toFixed(1)}/s${eta}`
}

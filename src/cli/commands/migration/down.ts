import { downLines, nobodyDown } from '../../kit/down.ts'
import { show } from '../../kit/rows.ts'

export const down = show({
  name: 'down',
  summary: 'The machines that are off because of a migration, since when, and what brings them back',
  asks: 'GET /v1/down',
  print: (output, list) => (list.count === 0 ? output.line(nobodyDown) : output.fields(downLines(list))),
})

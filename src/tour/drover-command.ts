/** `npx drover` as it has to be typed to find this Drover: it is looked for by its data, not by a port. */
export const droverCommand = (dataDir = process.env.DROVER_DATA_DIR): string =>
  [...(dataDir ? [`DROVER_DATA_DIR=${dataDir}`] : []), 'npx drover'].join(' ')

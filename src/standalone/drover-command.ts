/** `npx drover` as it has to be typed to reach this API, and to find the token that is kept beside its data. */
export const droverCommand = (address: string, dataDir = process.env.DROVER_DATA_DIR): string =>
  [
    ...(address === 'http://127.0.0.1:7070' ? [] : [`DROVER_URL=${address}`]),
    ...(dataDir ? [`DROVER_DATA_DIR=${dataDir}`] : []),
    'npx drover',
  ].join(' ')

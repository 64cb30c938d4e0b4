const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `512 GiB`, `1.5 TiB`. */
export const bytes = (count: number): string => {
  const power = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1)
  const value = count / 1_024 ** power
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

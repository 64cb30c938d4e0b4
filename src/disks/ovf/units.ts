const decimal: Readonly<Record<string, number>> = {
  byte: 1,
  bytes: 1,
  kb: 1024,
  kilobyte: 1024,
  kilobytes: 1024,
  mb: 1024 ** 2,
  megabyte: 1024 ** 2,
  megabytes: 1024 ** 2,
  gb: 1024 ** 3,
  gigabyte: 1024 ** 3,
  gigabytes: 1024 ** 3,
}

/** An amount in OVF units (`byte * 2^30`, or the older `GigaBytes`) in bytes; null: invalid. */
export const bytesOf = (amount: string, units: string): number | null => {
  const unit = unitBytes(units.trim().toLowerCase())
  if (!/^\d{1,16}$/.test(amount.trim()) || unit === null) return null
  const bytes = Number(amount) * unit
  return Number.isSafeInteger(bytes) ? bytes : null
}

const unitBytes = (units: string): number | null => {
  if (units === '') return 1
  const power = /^bytes?\s*\*\s*(2|10)\s*\^\s*(\d{1,2})$/.exec(units)
  if (power) return Number(power[1]) ** Number(power[2])
  const times = /^bytes?\s*\*\s*(\d{1,15})$/.exec(units)
  if (times) return Number(times[1])
  return Object.hasOwn(decimal, units) ? (decimal[units] as number) : null
}

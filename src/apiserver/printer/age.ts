/** The age format of kubectl, at most two units: `90s`, `5m30s`, `12m`, `3h20m`, `4d`. */
export function formatAge(ms: number): string {
  const seconds = Math.trunc(ms / 1000)
  // Tolerates a small clock skew.
  if (seconds < -1) return '<invalid>'
  if (seconds < 120) return `${Math.max(0, seconds)}s`
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  const years = Math.floor(days / 365)
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  if (days < 8) return pair(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  return years < 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`
}

function pair(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`
}

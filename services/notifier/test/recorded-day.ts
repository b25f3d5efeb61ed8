/** Counts the people with one parcel, two parcels, … of the day. */
export const peopleByParcels = [120, 40, 15, 5]
export const dayMinutes = 480
export interface Scan {
  readonly minute: number
  readonly waybill: string
  readonly phone: string
  readonly status: string
}

/**
 * Records a day: vans are loaded within half an hour, and a person's parcels, from several merchants, are scanned
 * anywhere in their van's quarter of an hour; they are delivered at one stop, within three minutes.
 */
export const recordDay = (): Scan[] => {
  const scans: Scan[] = []
  let person = 0
  for (const [index, count] of peopleByParcels.entries())
    for (let each = 0; each < count; each++) {
      const phone = `+94772${String(++person).padStart(6, '0')}`
      const [van, stop] = [(person * 7) % 16, 60 + ((person * 53) % (dayMinutes - 120))]
      for (let parcel = 0; parcel <= index; parcel++) {
        const waybill = `D${person}-${parcel}`
        scans.push({ minute: van + ((person * 5 + parcel * 11) % 15), waybill, phone, status: 'key_12' })
        scans.push({ minute: stop + (parcel % 3), waybill, phone, status: 'key_13' })
      }
    }
  return scans.sort((a, b) => a.minute - b.minute)
}

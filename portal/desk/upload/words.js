// Holds the words that shops and couriers use for payments and states, in English, Sinhala and Tamil. No list of words
// is complete: a cell counts only if a whole phrase of it stands here, and a person is asked about any other.
import { toPlain } from './numbers.js'

/**
 * Maps what a cell says to its phrases. For a payment, `paid` was paid, `online` is paid before delivery, `cod` is
 * collected at the door, `due` is not paid yet, `part` is paid in part. For a state, `go` may travel, `stay` does not,
 * `hold` waits for the shop. The heading decides what `pending` and `done` mean. `forward` is a delivery to a customer,
 * and `other` is not.
 * Words that two shops use differently, such as "approved", "pay later" or "cheque", are left out on purpose.
 */
const phrases = {
  paid: `paid|fully paid|full paid|paid in full|paid online|prepaid|pre paid|payment received|payment complete|
    payment completed|payment successful|captured|settled|success|successful|succeeded|
    ගෙවා ඇත|ගෙව්වා|ගෙවූ|ගෙවා අවසන්|මුදල් ගෙවා ඇත|කලින් ගෙවූ|පෙර ගෙවූ|
    செலுத்தப்பட்டது|செலுத்தியது|பணம் செலுத்தப்பட்டது|கட்டணம் செலுத்தப்பட்டது|முன்பணம் செலுத்தப்பட்டது`,
  online: `card|credit card|debit card|credit debit card|debit credit card|cc|visa|master|mastercard|master card|amex|
    american express|bank|bank transfer|direct bank transfer|bank deposit|bank slip|transfer|online|online payment|
    online transfer|bacs|payhere|paypal|stripe|razorpay|webxpay|directpay|genie|frimi|ez cash|ezcash|mcash|m cash|
    lankaqr|lanka qr|apple pay|google pay|shopify payments|woocommerce payments|කාඩ්|කාඩ්පත|බැංකු මාරුව|බැංකු තැන්පතු|
    අන්තර්ජාල ගෙවීම|அட்டை|கடன் அட்டை|வங்கி பரிமாற்றம்|வங்கிப் பரிமாற்றம்|வங்கி வைப்பு|ஆன்லைன்`,
  cod: `cod|cod order|cash on delivery|cashondelivery|cash on delivery payment|cash|cash payment|pay on delivery|
    payment on delivery|card on delivery|pay cash on delivery|pay by cash on delivery|pod|cash upon delivery|
    මුදල්|භාරදීමේදී ගෙවීම|භාරදීමේදී මුදල්|භාරදෙන විට ගෙවීම|ලැබෙන විට ගෙවීම|ලැබුණු පසු ගෙවීම|
    ரொக்கம்|டெலிவரியின் போது பணம்|விநியோகத்தின் போது பணம்|பொருள் பெறும்போது பணம்|டெலிவரியில் பணம்`,
  due: `unpaid|not paid|not yet paid|due|to collect|to be collected|collect|payment due|
    ගෙවා නැත|නොගෙවූ|ගෙවිය යුතු|செலுத்தப்படவில்லை|செலுத்தவில்லை|செலுத்த வேண்டும்|நிலுவை`,
  pending: 'pending|pending payment|payment pending',
  done: 'completed|complete|done|finished|සම්පූර්ණයි|අවසන්|முடிந்தது',
  part: `part|partial|partially paid|part paid|partly paid|half paid|partial payment|advance paid|deposit paid|
    partially refunded|අඩක් ගෙවා ඇත|අත්තිකාරම් ගෙවා ඇත|பகுதி செலுத்தப்பட்டது|முன்பணம்`,
  go: `new|new order|open|processing|in process|confirmed|order confirmed|packed|packing|ready|ready to ship|to ship|
    ready for shipping|ready to dispatch|ready for dispatch|to dispatch|unfulfilled|not fulfilled|unshipped|not shipped|
    awaiting fulfillment|awaiting shipment|awaiting pickup|නව|අලුත්|තහවුරු කළ|තහවුරුයි|සැකසෙමින්|සූදානම්|
    புதிய|புதியது|உறுதி|உறுதியானது|உறுதிசெய்யப்பட்டது|செயலாக்கத்தில்|தயார்`,
  stay: `delivered|returned|return|rto|return to sender|returned to sender|shipped|dispatched|despatched|sent|fulfilled|
    in transit|out for delivery|cancelled|canceled|cancel|order cancelled|cancelled by customer|customer cancelled|
    rejected|refused|declined|duplicate|duplicate order|draft|checkout draft|failed|refunded|refund|void|voided|trash|
    trashed|deleted|expired|abandoned|lost|spam|fake|fake order|අවලංගු|අවලංගුයි|අවලංගු කළ|අවලංගු කළා|භාරදුන්|භාර දුන්|
    භාරදී ඇත|බෙදාහැර ඇත|යවා ඇත|යැව්වා|ආපසු|ආපසු පැමිණි|ප්‍රතික්ෂේප|ප්‍රතික්ෂේප කළ|ரத்து|ரத்தானது|ரத்து செய்யப்பட்டது|
    டெலிவரி செய்யப்பட்டது|வழங்கப்பட்டது|ஒப்படைக்கப்பட்டது|அனுப்பப்பட்டது|திரும்பியது|திருப்பப்பட்டது|நிராகரிக்கப்பட்டது`,
  hold: 'on hold|hold|held|onhold|රඳවා ඇත|தாமதம்|நிறுத்தி வைக்கப்பட்டது',
  forward: `delivery|forward|normal|standard|regular|ordinary|express|same day|next day|parcel|package|document|
    documents|sale|sales|order|online order|home delivery|door to door|door delivery|බෙදාහැරීම|පාර්සල්|டெலிவரி|பார்சல்|விநியோகம்`,
  other: `exchange|exchange parcel|exchange order|reverse|reverse pickup|reverse pick up|return pickup|replacement|swap|
    හුවමාරු|හුවමාරුව|பரிமாற்றம்|மாற்று`,
  yes: 'y|yes|true|✓|✔|☑|✅|√|ඔව්|ඔව|ஆம்',
  no: 'n|no|false|✗|✘|❌|☐|නැත|නෑ|නැහැ|இல்லை',
}

/** Writes a phrase in one way: in lower case, without marks; C.O.D. as cod, and wc-processing as processing. */
const simplify = (/** @type {string} */ text) =>
  toPlain(text)
    .toLowerCase()
    .replace(/\ufe0f/g, '')
    .replace(/(?<=\b\p{L})\.(?=\p{L}\b)/gu, '')
    .replace(/[^\p{L}\p{M}\p{N}✓✔☑✅√✗✘❌☐]+/gu, ' ')
    .trim()
    .replace(/^wc /, '')

const meanings = new Map(
  Object.entries(phrases).flatMap(([meaning, list]) => list.split('|').map(each => [simplify(each), meaning])),
)

/**
 * Returns what a cell says: '' if it is blank, and `unknown` unless all of its phrases say the same, as those of
 * "Cash on delivery (COD)" and "Visa / Master" do.
 * @param {string} text
 */
export const readWords = text => {
  if (/^[\s–—-]*$/u.test(text)) return ''
  const whole = meanings.get(simplify(text))
  if (whole) return whole
  const parts = text
    .split(/[/,;|+&()[\]]/)
    .map(simplify)
    .filter(Boolean)
  const found = new Set(parts.map(part => meanings.get(part) ?? 'unknown'))
  return found.size === 1 ? [...found][0] : 'unknown'
}

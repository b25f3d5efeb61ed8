// Weighs the headings of a sheet for the fields of an order.

/** Simplifies a heading: words in lower case, without marks; splits camelCase, and writes "C.O.D." as "cod". */
export const simplify = (/** @type {string} */ heading) =>
  heading
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\ufeff]/g, '')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(?:[a-z]\.){2,}[a-z]?/g, letters => letters.replaceAll('.', ''))
    .replace(/[^\p{L}\p{M}\p{N}#]+/gu, ' ')
    .trim()

const sender =
  /\b(senders?|pick ?up|shippers?|from|merchant|seller|store|shop|business|origin|vendor|suppliers?|return|warehouse|branch|courier|rider)\b|යවන්න|එවන්න|அனுப்புந/u
const payer = /\b(bill(ing)?|payers?|invoice)\b/
const receiver = /\b(ship(ping)?|deliver(y|ed)?|receivers?|recipients?|consignee|drop( off)?|destination)\b|ලබන්න|பெறுந/u

/** Returns the side of a delivery that a heading names. @param {string} words */
export const readSide = words =>
  sender.test(words) ? 'sender' : payer.test(words) ? 'payer' : receiver.test(words) ? 'receiver' : ''
const weightOfSide = { receiver: 20, '': 0, payer: -40, sender: -1000 }

export const placeAndPerson = ['customer_name', 'customer_address', 'destination']
const phones = ['customer_phone', 'customer_secondary_phone']
/** Lists words of headings that name something else than a person or a place. */
const noPerson =
  /\b(items?|products?|lineitem|company|file|user|bank|province|state|country|tax|method|card|staff|agent|ip|url|zone|id)\b/
/** Lists words of taxes, discounts, quantities, fees, prices of one item, and of what is paid: none is the COD. */
const noCod =
  /\b(tax|vat|discount|coupon|qty|quantity|count|fees?|charges?|cost|price|rate|items?|refund|paid|received|remitted|advance|date|status|method|type|mode|by|no|id|name)\b|බද|වට්ටම|ගාස්තු|මිල|ප්රමාණ|වරි|வரி|தள்ளுபடி|கட்டண|விலை|அளவு/u

/** Lists words of the price or number of items, beside which the items are no contents. */
const noItems = /මිල|ගණන|ප්රමාණ|விலை|அளவு|எண்ணிக்கை/u

/**
 * Lists the headings of each field with their weights; the first form that a simplified heading has decides. The order
 * of the fields is the order in which a person chooses them.
 * @type {Record<string, [RegExp, number][]>}
 */
const forms = {
  order_no: [
    [/^((merchant|shop|web|customer) )?order ?(no|number|num|id|#|ref|reference|code)$|ඇණවුම්|ஆர்டர்/u, 110],
    [/^(invoice|bill|ref|reference)( ?(no|number|num|id|#|code))?$|යොමු/u, 100],
    [/^(order|#|id)$|^((s|serial|sl|sr) )?no$/, 60],
  ],
  customer_name: [
    [/^(.* )?full ?name$/, 112],
    [/^(.* )?(first|given|fore|last|sur|family) ?name\b/, 110],
    [/^((receivers?|recipients?|consignee|ship to|deliver to|bill to)( name)?|delivered to)$/, 105],
    [/^name$|^(customer|client|buyer|contact)( s)? (name|person)$|(^|\s)නම(\s|$)|பெயர்/u, 105],
    [/^(shipping|delivery|billing|payer|person) name$|^name (shipping|billing)$/, 100],
    [/^(customer|client|buyer)$|ලබන්නා$|பெறுநர்$|ගනුදෙනුකරු|පාරිභෝගික|வாடிக்கையாளர்/u, 80],
    [/\b(your|customer|person|receiver|recipient)\b.*\bname\b/, 80],
  ],
  customer_phone: [
    [/^(.* )?(phone|mobile|tel|telephone|cell|cellphone)( (no|number|num|#))?( ?(1|one))?( (shipping|billing))?$/, 110],
    [/^(.* )?contact (no|number|num|#|details?)( ?(1|one))?$/, 110],
    [/දුරකථ|ජංගම|தொலைபேசி|கைபேசி|அலைபேசி|மொபைல்/u, 110],
    [/\bwhats ?app\b|^contact( ?1)?$|\b(phone|mobile|telephone)\b/, 60],
  ],
  customer_secondary_phone: [
    [
      /\b(second(ary)?|alt(ernat(e|ive))?|other|additional|2nd)\b.*\b(phone|mobile|contact|tel\w*|cell|no|number)\b/,
      130,
    ],
    [/\b(phone|mobile|contact|tel\w*|cell|number|no) ?(2|two)$/, 130],
    [/(දෙවන|இரண்டாவது|மாற்று).*(දුරකථ|தொலைபேசி|கைபேசி)/u, 130],
  ],
  customer_address: [[/\b(address|addr|street)\b|\b(address|street)[1-5]$|ලිපින|முகவரி/u, 110]],
  destination: [
    [/^(.* )?(city|town)( (name|shipping|billing))?$|\b(nearest|delivery) (city|town)\b|නගර|நகர|(^|\s)ஊர்/u, 105],
    [/\b(city|town)\b|^(.* )?(suburb|destination)$/, 95],
    [/^(.* )?district$|දිස්ත්රික්|மாவட்ட/u, 60],
    [/^(.* )?area$/, 50],
  ],
  cod: [
    [
      /^(cod|cash|collect|collection)( (amount|amt|value|total))?$|^((cod|cash|amount|amt) )?(to (be )?)?collect(ed|able)?$/,
      120,
    ],
    [/^collect(able|ible) amount$|අය කළ|එකතු කළ|வசூல/u, 120],
    [/^((cod|total|net) )?(payable|due|outstanding|balance)( (amount|amt|due|total|balance|payable|to pay))?$/, 110],
    [/^(amount|amt|total) (payable|due|outstanding|to pay)$|^to pay$|ගෙවිය යුතු|செலுத்த வேண்டிய/u, 110],
    [/\bcod\b|\bto (be )?collect/, 100],
    [/^(grand|order|invoice|bill|final|net) total( (amount|amt|price|value))?$|මුළු|மொத்த/u, 85],
    [/^total( (amount|amt|price|value|bill))?$|^එකතුව$/, 80],
    [/^((order|bill|invoice) )?(amount|amt)$|මුදල|தொகை/u, 70],
  ],
  weight: [
    [/^((parcel|package|gross|actual|total|shipping) )?(weight|wt)\b|^(kgs?|grams?|gms?)$|(^|\s)බර(\s|$)|எடை/u, 110],
    [/\b(weight|wt)\b/, 90],
  ],
  description: [
    [/^(.* )?(descriptions?|contents?)$|^(parcel|package|product|item|order) details?$|විස්තර|விவர|விளக்க/u, 100],
    [/^(line ?item|item|product) names?$|^(ordered )?(items?|products?|goods)( ordered)?$|භාණ්ඩ|අයිතම|பொருள்/u, 90],
  ],
  remark: [
    [/^(.* )?(remarks?|notes?|comments?|instructions?)$|සටහන|குறிப்பு/u, 100],
    [/^(.* )?message$/, 60],
  ],
  customer_email: [[/\be ?mail\b|^mail$|මේල්|විද්යුත්|மின்னஞ்சல்/u, 150]],
}
export const fieldNames = Object.keys(forms)

/** Removes from the heading of an amount its currency, and that taxes or delivery are in it. */
const simplifyMoney = (/** @type {string} */ words) =>
  words
    .replace(/\bcash on delivery\b/g, 'cod')
    .replace(
      /\b(inc|incl|including|with) (tax|vat|gst|delivery|shipping)\b|\b(lkr|slr|rs|rupees)\b|රු(?=\s|$)|ரூ(?=\s|$)/gu,
      '',
    )
    .replace(/\s+/g, ' ')
    .replace(/\bcod cod\b/, 'cod')
    .trim()

/** Weighs a simplified heading for a field; 0 if it does not name the field. */
const weigh = (/** @type {string} */ words, /** @type {string} */ field) => {
  const text = field === 'cod' ? simplifyMoney(words) : words
  const weight = forms[field].find(([form]) => form.test(text))?.[1] ?? 0
  const side = readSide(words)
  if (weight === 0) return 0
  if (field === 'cod') return noCod.test(text) && !/^(grand |order )?total (price|value)$/.test(text) ? 0 : weight
  if (field === 'description' && noItems.test(words)) return 0
  if (field === 'remark') return side === 'sender' ? weight - 50 : weight
  if (!placeAndPerson.includes(field) && !phones.includes(field)) return weight
  return noPerson.test(words) ? 0 : Math.max(weight + weightOfSide[side], 0)
}

/** Returns the field that a heading names the most clearly, with its weight; or ''. @param {string} words */
export const nameField = words =>
  fieldNames
    .map(field => ({ field, weight: weigh(words, field) }))
    .reduce((best, next) => (next.weight > best.weight ? next : best), { field: '', weight: 0 })

/** Returns the number of a part, such as 2 in "last name" or "address line 2"; 0 for the whole. */
export const readPart = (/** @type {string} */ words, /** @type {string} */ field) => {
  if (field === 'customer_name')
    return /\b(first|given|fore) ?name/.test(words) ? 1 : /\b(last|sur|family) ?name/.test(words) ? 2 : 0
  return field === 'customer_address' && !/ 1 2\b/.test(words) ? Number(/([1-5])$/.exec(words)?.[1] ?? 0) : 0
}

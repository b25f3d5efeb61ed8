// Weighs the headings of a sheet for the fields of an order.

import { toPlain } from './numbers.js'

/** Simplifies a heading: words in lower case, without marks; splits camelCase, and writes "C.O.D." as "cod". */
export const simplify = (/** @type {string} */ heading) =>
  toPlain(heading)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\b(?:[a-z]\.){2,}[a-z]?/g, letters => letters.replaceAll('.', ''))
    .replace(/[^\p{L}\p{M}\p{N}#]+|\b(optional|required|mandatory)\b/gu, ' ')
    .replace(/ +/g, ' ')
    .trim()

const sender = new RegExp(
  String.raw`\b(senders?|consignors?|pick ?up|shippers?|from|merchant|seller|store|shop|business|` +
    String.raw`origin|vendor|suppliers?|return|warehouse|branch|courier|rider)\b|යවන්න|එවන්න|அனுப்புந|مرسل(?! ?[إا]لي)|প্রেরক`,
  'u',
)
const payer = /\b(bill(ing)?|payers?|payment|invoice)\b/
const receiver = new RegExp(
  String.raw`\b(ship(ping)?|deliver(y|ed)?|receivers?|recipients?|consignee|drop off|drop|destination)\b|` +
    'ලබන්න|பெறுந|مستلم|مرسل [إا]لي|প্রাপক',
  'u',
)

/** Returns the side of a delivery that a heading names. @param {string} words */
export const readSide = words =>
  sender.test(words) ? 'sender' : payer.test(words) ? 'payer' : receiver.test(words) ? 'receiver' : ''
const weightOfSide = { receiver: 35, '': 0, payer: -40, sender: -1000 }

export const placeAndPerson = ['customer_name', 'customer_address', 'destination']
/** Lists what tells towns of one name apart. */
export const ofTown = ['state_name', 'postal_code']
export const sided = [...placeAndPerson, ...ofTown, 'customer_phone', 'customer_secondary_phone', 'customer_email']
/** Lists words of headings that name something else than a person or a place. */
const noPerson = new RegExp(
  String.raw`\b(items?|products?|lineitem|company|file|user|bank|province|state|country|tax|method|` +
    String.raw`card|staff|agent|ip|url|zone|id|tracking|zip(code)?|(post(al)?|pin) ?code)\b`,
)
/** Lists words of taxes, discounts, quantities, fees, prices of one item, and of what is paid: none is the COD. */
const noCod = new RegExp(
  String.raw`\b(tax|vat|discount|coupon|qty|quantity|count|fees?|charges?|commission|cost|price|rate|` +
    `items?|refund|paid|received|remitted|settled|advance|deposit|date|status|method|type|` +
    String.raw`mode|by|no|id|name|without|excl\w*)\b|බද|වට්ටම|ගාස්තු|මිල|ප්රමාණ|වරි|අත්තිකාරම්|ගෙවූ|ගෙවා|செலுத்திய|வரி|தள்ளுபடி|கட்டண|விலை|` +
    `அளவு|முன் ?பண|ضريب|خصم|رسوم|سعر|كمية|مدفوع|مقدم|طريقة|حالة|تاريخ|চার্জ|ফি$|ভ্যাট|ছাড়|দাম|মূল্য|` +
    `সংখ্যা|অগ্রিম|পরিশোধ|তারিখ`,
  'u',
)
/** Lists totals that are none of one item, or are left after what noCod names. */
const netTotal = /^(grand |order )?total (price|value)$|\bafter (discounts?|coupons?|advance)$/
const district = /^(.* )?district( name)?$|දිස්ත්රික්|மாவட்ட|محافظة|জেলা/u
/** Ends the heading of a column that holds the units of weights. */
const unitOfWeight = /\b(units?|uom)$/
/** Lists words of the price or number of items, beside which the items are no contents. */
const noItems = /මිල|ගණන|ප්රමාණ|விலை|அளவு|எண்ணிக்கை|سعر|كمية|দাম|মূল্য|সংখ্যা/u

/**
 * Lists the headings of each field with their weights: the first form that a simplified heading has decides. People
 * choose among the fields in this order.
 */
const forms = /** @type {Record<string, [number, RegExp][]>} */ ({
  order_no: [
    [110, /^((merchant|shop|web|customer) )?order ?(no|number|num|id|#|ref|reference|code)$|ඇණවුම්|ஆர்டர்|رقم الطلب|অর্ডার/u],
    [100, /^(invoice|bill|ref|reference)( ?(no|number|num|id|#|code))?$|යොමු/u],
    [60, /^(order|#|id)$|^((s|serial|sl|sr) )?no$/],
  ],
  customer_name: [
    [112, /^(.* )?full ?name$/],
    [110, /^(.* )?(first|given|fore|last|sur|family) ?name\b/],
    [105, /^((receivers?|recipients?|consignee|ship to|deliver to|bill to)( name)?|delivered to)$/],
    [105, /^name$|^(customer|client|buyer|contact)( s)? (name|person)$|(^|\s)නම(\s|$)|பெயர்|(^|\s)ا?ل?اسم(\s|$)|নাম/u],
    [100, /^(shipping|delivery|billing|payer|person) name$|^name (shipping|billing)$/],
    [80, /^(customer|client|buyer)$|ලබන්නා$|பெறுநர்$|ගනුදෙනුකරු|පාරිභෝගික|வாடிக்கையாளர்/u],
    [80, /\b(your|customer|person|receiver|recipient)\b.*\bname\b/],
  ],
  customer_phone: [
    [
      110,
      /^(.* )?(phone|mobile|tel|telephone|cell|cellphone|tp)( (no|number|num|#))?( ?(1|one))?( (shipping|billing))?$/,
    ],
    [
      110,
      /^(.* )?contact (no|number|num|#|details?)( ?(1|one))?$|දුරකථ|ජංගම|தொலைபேசி|கைபேசி|அலைபேசி|மொபைல்|هاتف|جوال|موبايل|মোবাইল|ফোন/u,
    ],
    [110, /^දු ක( අංකය)?$/],
    [60, /\bwhats ?app\b|^(.* )?contact( ?1)?$|\b(phone|mobile|telephone)\b/],
  ],
  customer_secondary_phone: [
    [
      130,
      /\b(second(ary)?|alt(ernat(e|ive))?|other|additional|2nd) (.* )?(phone|mobile|contact|tel\w*|cell|no|number)\b/,
    ],
    [130, /\b(phone|mobile|contact|tel\w*|tp|cell|number|no) ?(2|two)$|(දෙවන|இரண்டாவது|மாற்று).*(දුරකථ|தொலைபேசி|கைபேசி)/u],
  ],
  customer_address: [[110, /\b(address|addr|street)\b|\b(address|street)[1-5]$|^add$|ලිපින|முகவரி|عنوان|ঠিকানা/u]],
  destination: [
    [115, /^(?!address (nearest )?(city|town)$|.*\b(and|with|inc\w*)\b)(.* )?(city|town)( (name|shipping|billing))?$/],
    [115, /^(?!.*(ලිපින|முகவரி|عنوان|ঠিকানা)).*(නගර|நகர|(^|\s)ஊர்|مدينة|শহর)/u],
    [105, /\b(nearest|delivery) (city|town)\b/],
    [95, /\b(city|town)\b|^(.* )?(suburb|destination)$/],
    [60, district],
    [50, /^(.* )?area$/],
  ],
  state_name: [
    [55, district],
    [50, /^(?!order )(.* )?(state|province)( (name|code))?( (shipping|billing))?$|පළාත|மாகாண|বিভাগ/u],
  ],
  postal_code: [
    [100, /^(.* )?(zip|pin|(zip|pin|post(al)?) ?(code|no))( (shipping|billing))?$/],
    [100, /තැපැල් (කේත|අංක)|அஞ்சல் (குறியீ|எண்)|الرمز البريدي|পোস্ট ?কোড/u],
  ],
  cod: [
    [120, /^(cod|cash|collect(able|ible|ion)?)( (amount|amt|value|total))?$/],
    [120, /^((cod|cash|amount|amt) )?(to (be )?)?collect(ed|able)?$|අය කළ|එකතු කළ|வசூல/u],
    [110, /^((cod|total|net) )?(payable|due|outstanding|balance)( (amount|amt|due|total|balance|payable|to pay))?$/],
    [110, /^(amount|amt|total) (payable|due|outstanding|to pay)$|^to pay$|ගෙවිය යුතු|ශේෂ|ඉතිරි/u],
    [110, /செலுத்த வேண்டிய|மீதி|மீதம்|நிலுவை|பாக்கி|مطلوب|تحصيل|عند الاستلام|বকে|বাকি|সংগ্রহ|আদা/u],
    [100, /\bcod\b|\bto (be )?collect|\bcollect(able|ion)? (amount|amt|value)$/],
    [90, /^net (amount|amt)$|^((grand|order|invoice|bill) )?(total|amount|amt)( (amount|amt|price|value))? after \w+$/],
    [85, /^(grand|order|invoice|bill|final|net) total( (amount|amt|price|value))?$|මුළු|மொத்த|[إا]جمالي|مجموع|মোট/u],
    [80, /^total( (amount|amt|price|value|bill))?$|^එකතුව$/],
    [70, /^((order|bill|invoice) )?(amount|amt)$|මුදල|தொகை|مبلغ|টাকা/u],
  ],
  weight: [
    [
      110,
      /^((parcel|package|gross|actual|total|shipping) )?(weight|wt)\b|^(kgs?|grams?|gms?)$|(^|\s)බර(\s|$)|எடை|وزن|ওজন/u,
    ],
    [90, /\b(weight|wt)\b/],
  ],
  description: [
    [
      100,
      /^(.* )?(descriptions?|contents?)$|^(parcel|package|product|item|order) details?$|විස්තර|விவர|விளக்க|وصف|বিবরণ/u,
    ],
    [
      90,
      /^(line ?item|item|product) names?$|^(ordered )?(items?|products?|goods)( ordered)?$|භාණ්ඩ|අයිතම|பொருள்|منتج|পণ্য/u,
    ],
  ],
  remark: [
    [100, /^(.* )?(remarks?|notes?|comments?|instructions?)$|සටහන|குறிப்பு|ملاحظ|মন্তব্য/u],
    [60, /^(.* )?message$/],
  ],
  customer_email: [[150, /\be ?mail\b|^mail$|මේල්|විද්යුත්|மின்னஞ்சல்|بريد|ইমেইল/u]],
})
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
export const weigh = (/** @type {string} */ words, /** @type {string} */ field) => {
  const text = field === 'cod' ? simplifyMoney(words) : words
  const weight = forms[field].find(([, form]) => form.test(text))?.[0] ?? 0
  const side = readSide(words)
  if (field === 'cod') return noCod.test(text) && !netTotal.test(text) ? 0 : weight
  if (field === 'description' && noItems.test(words)) return 0
  if (field === 'weight' && unitOfWeight.test(words)) return 0
  if (field === 'remark') return side === 'sender' ? weight - 50 : weight
  if (weight === 0 || !sided.includes(field)) return weight
  return noPerson.test(words) && !ofTown.includes(field) ? 0 : Math.max(weight + weightOfSide[side], 0)
}

/** Returns the field that a heading names the most clearly, with its weight; or ''. @param {string} words */
export const nameField = words =>
  fieldNames
    .map(field => ({ field, weight: weigh(words, field) }))
    .reduce((best, next) => (next.weight > best.weight ? next : best), { field: '', weight: 0 })

/** Names the field of a heading. Brackets make no other place or phone of what stands outside them. */
export const nameHeading = (/** @type {string} */ heading) => {
  const whole = nameField(simplify(heading))
  const outside = nameField(simplify(heading.replace(/[([{（［].*?([)\]}）］]|$)/g, ' ')))
  const isClear = outside.weight >= 95 && sided.includes(outside.field) && outside.field !== 'customer_name'
  return isClear && whole.field ? (outside.field === whole.field ? whole : outside) : whole
}

/** Lists what belongs into the address beside its street. */
const ofAddress = /^(.* )?(house|flat|apartment|building)( (no|number|name|#))?$|\bland ?mark\b|^(.* )?area$/
const company =
  /^((ship(ping)?|receiver|recipient|consignee|customer|bill(ing)?) )?company( name)?( (shipping|billing))?$/
/** Returns true for the heading of a column that belongs into the address; its company stands first. */
export const isOfAddress = (/** @type {string} */ words) => ofAddress.test(words) || company.test(words)

/** Returns the place of a part, such as 2 in "last name" or "address line 2"; 0 for the whole and the first part. */
export const readPart = (/** @type {string} */ words, /** @type {string} */ field) => {
  if (field === 'customer_name')
    return /\b(first|given|fore) ?name/.test(words) ? 1 : /\b(last|sur|family) ?name/.test(words) ? 2 : 0
  if (ofAddress.test(words)) return /mark|area/.test(words) ? 9 : 0
  if (company.test(words)) return -1
  return field === 'customer_address' && !/ 1 2\b/.test(words) ? Number(/([1-5])$/.exec(words)?.[1] ?? 0) : 0
}

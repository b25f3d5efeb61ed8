// Translates the names of the default statuses. A company's own statuses are not translated.
/** @type {Record<string, Record<string, string>>} */
export const statuses = {
  DRAFT: { si: 'කෙටුම්පත', ta: 'வரைவு' },
  CONFIRMED: { si: 'තහවුරු කර ඇත', ta: 'உறுதி செய்யப்பட்டது' },
  CANCELLED: { si: 'අවලංගු කර ඇත', ta: 'ரத்து செய்யப்பட்டது' },
  'DEFAULT WAREHOUSE CHANGE': { si: 'පෙරනිමි ගබඩාව වෙනස් කිරීම', ta: 'இயல்புக் கிடங்கு மாற்றம்' },
  'PICKUP RIDER ASSIGNED': { si: 'රැගෙන යන රයිඩර් පත් කර ඇත', ta: 'எடுக்கும் ரைடர் நியமிக்கப்பட்டார்' },
  'PICKED UP': { si: 'රැගෙන ඇත', ta: 'எடுக்கப்பட்டது' },
  'DELIVERED BY PICKUP RIDER': { si: 'රැගෙන ගිය රයිඩර් භාර දී ඇත', ta: 'எடுத்த ரைடர் ஒப்படைத்தார்' },
  'DISPATCH TO ORIGIN WAREHOUSE': { si: 'ආරම්භක ගබඩාවට යවමින්', ta: 'தொடக்கக் கிடங்கிற்கு அனுப்பப்படுகிறது' },
  'RECEIVED TO ORIGIN WAREHOUSE': { si: 'ආරම්භක ගබඩාවට ලැබී ඇත', ta: 'தொடக்கக் கிடங்கில் பெறப்பட்டது' },
  'DISPATCHED FROM ORIGIN WAREHOUSE': {
    si: 'ආරම්භක ගබඩාවෙන් පිටත්ව ඇත',
    ta: 'தொடக்கக் கிடங்கிலிருந்து அனுப்பப்பட்டது',
  },
  'RECEIVED AT DESTINATION WAREHOUSE': { si: 'ගමනාන්ත ගබඩාවට ලැබී ඇත', ta: 'சேருமிடக் கிடங்கில் பெறப்பட்டது' },
  'ASSIGNED TO DESTINATION RIDER': { si: 'බෙදා හැරීමට පිටත්ව ඇත', ta: 'விநியோகத்திற்குப் புறப்பட்டது' },
  DELIVERED: { si: 'භාර දී ඇත', ta: 'ஒப்படைக்கப்பட்டது' },
  'PARTIALLY DELIVERED': { si: 'කොටසක් භාර දී ඇත', ta: 'பகுதி ஒப்படைக்கப்பட்டது' },
  'RETURN TO DESTINATION WAREHOUSE': { si: 'ගමනාන්ත ගබඩාවට ආපසු', ta: 'சேருமிடக் கிடங்கிற்குத் திரும்புகிறது' },
  RESCHEDULED: { si: 'වෙනත් දිනකට යොදා ඇත', ta: 'வேறு நாளுக்கு மாற்றப்பட்டது' },
  'FAILED TO DELIVER': { si: 'භාර දීමට නොහැකි විය', ta: 'ஒப்படைக்க முடியவில்லை' },
  'RETURN TO ORIGIN WAREHOUSE': { si: 'ආරම්භක ගබඩාවට ආපසු', ta: 'தொடக்கக் கிடங்கிற்குத் திரும்புகிறது' },
  'RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)': {
    si: 'ආරම්භක ගබඩාවට ලැබී ඇත (භාර දීමට නොහැකි විය)',
    ta: 'தொடக்கக் கிடங்கில் பெறப்பட்டது (ஒப்படைக்க முடியவில்லை)',
  },
  'RETURN TO CLIENT': { si: 'වෙළෙන්දා වෙත ආපසු', ta: 'வணிகரிடம் திரும்புகிறது' },
  'RECEIVED FAILED ORDER': { si: 'වෙළෙන්දාට ආපසු ලැබී ඇත', ta: 'வணிகர் திரும்பப் பெற்றார்' },
}

import { type AccessToken, type PhoneNumber, scopes } from './account.ts'

/** The number that the demo works with. Its secrets come from the settings. */
export const demoNumber: Omit<PhoneNumber, 'app_secret'> = {
  phone_number_id: '106540352242922',
  waba_id: '102290129340398',
  display_phone_number: '+94 11 755 5000',
  verified_name: 'Demo Couriers',
  registered: true,
  pin: '123456',
  certificate: 'demo-certificate',
  quality_rating: 'GREEN',
  can_send_message: 'AVAILABLE',
}

export const demoToken: Omit<AccessToken, 'access_token'> = {
  waba_ids: [demoNumber.waba_id],
  scopes: [...scopes],
  expires_at: 0,
  revoked: false,
  target_ids: true,
}

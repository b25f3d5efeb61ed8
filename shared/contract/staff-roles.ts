/** Lists the roles of staff, which decide what each person may do (docs/staff/staff.md#roles). */
export const staffRoles = ['viewer', 'dispatcher', 'messenger', 'accounts', 'admin', 'rider'] as const
export type StaffRole = (typeof staffRoles)[number]

/** Leaves out riders, who see nothing of the company but the parcels that they have. */
const office = staffRoles.filter(role => role !== 'rider')
const rider: readonly StaffRole[] = ['admin', 'rider']

const dispatch: readonly StaffRole[] = ['dispatcher', 'admin']
const message: readonly StaffRole[] = ['messenger', 'admin']
const account: readonly StaffRole[] = ['accounts', 'admin']
const administrate: readonly StaffRole[] = ['admin']

type Roles = Readonly<Record<string, readonly StaffRole[]>>

const ofOrders: Roles = {
  getCurrentStaff: staffRoles,
  logOutStaff: staffRoles,
  listAllOrders: office,
  getAnyOrder: office,
  getToday: office,
  listStaffStatuses: office,
  listStaffCities: office,
  listMerchants: office,
  listRateGaps: office,
  listCustomerRequests: office,
  moveOrders: dispatch,
  editAnyOrder: dispatch,
  instructAnyOrder: dispatch,
  listAllFailedDeliveries: office,
  listStaffFailureReasons: office,
  decideCustomerRequest: dispatch,
  printAnyLabel: dispatch,
  printAnyLabels: dispatch,
  printRunSheet: dispatch,
  getAnyParcelMoney: office,
  getMerchantBalance: account,
  takeBackMove: ['dispatcher', 'accounts', 'admin'],
  compensateParcel: account,
  listCorrections: account,
  makeCorrection: account,
  approveCorrection: account,
  rejectCorrection: account,
  listBankEntries: account,
  remitTax: account,
  makeBankEntry: account,
  approveBankEntry: account,
  rejectBankEntry: account,
  getTaxes: account,
  settleDispute: account,
  getBankAccount: account,
  changeBankAccount: account,
  seeBankAccount: account,
  confirmBankAccount: account,
  getPayRun: account,
  makePayoutBatch: account,
  getPayoutBatch: account,
  listPayoutLines: account,
  releasePayoutBatch: account,
  cancelPayoutBatch: account,
  failPayouts: account,
  settlePayoutBatch: account,
  getStatement: account,
  listAccounts: account,
  getTrialBalance: account,
  listJournal: account,
  getMonthReport: account,
  getTaxSchedule: account,
  listAudit: account,
  getWithholdingStatement: account,
  getMerchantWithholding: account,
  getMerchantAccount: account,
  getCash: account,
  listHandovers: account,
  listUnbankedParcels: account,
  handOverCash: account,
  settleHandover: account,
  depositCash: account,
  transferCash: account,
  listCollectors: ['dispatcher', 'accounts', 'admin'],
  listAllInvoices: account,
  getAnyInvoice: account,
  getAnyCreditNote: account,
  makeInvoices: account,
  submitInvoice: account,
  approveInvoice: account,
  rejectInvoice: account,
  cancelInvoice: account,
  payCharges: account,
  listMySessions: staffRoles,
  endMySessions: staffRoles,
  listStaffPeople: administrate,
  addStaffPerson: administrate,
  changeStaffPerson: administrate,
  inviteStaffPerson: administrate,
  resetStaffSignIn: administrate,
  listStaffSessions: administrate,
  endStaffSessions: administrate,
  assignParcels: dispatch,
  unassignParcels: dispatch,
  listRiders: dispatch,
  listRefusedActs: dispatch,
  decideAct: dispatch,
  makeSignInLink: dispatch,
  listSignIns: dispatch,
  endSignIn: dispatch,
  listProofs: office,
  getProof: office,
  listAllPickups: office,
  getAnyPickup: office,
  printAnyPickupReceipt: office,
  assignPickup: dispatch,
  finishPickup: dispatch,
  missPickup: dispatch,
  listAllTickets: office,
  replyToTicket: dispatch,
  closeTicket: dispatch,
  listMyParcels: rider,
  lookUpMyParcel: rider,
  sortMyParcels: rider,
  sendActs: rider,
}

const ofNotifier: Roles = {
  listMessages: office,
  summariseMessages: office,
  getMessage: office,
  getTimeline: office,
  getConversation: office,
  listConversations: office,
  listConversationMessages: office,
  listTemplates: office,
  listChannels: office,
  preflightMessages: message,
  sendMessage: message,
  sendMessages: message,
  cancelMessage: message,
  resendMessage: message,
  replyToConversation: message,
  readConversation: message,
  optOut: message,
  optIn: message,
  getCosts: message,
  putChannel: administrate,
  registerChannel: administrate,
  checkChannel: administrate,
  diagnoseChannel: administrate,
  subscribeChannel: administrate,
  resumeChannel: administrate,
  syncTemplates: administrate,
}

/**
 * Lists the roles that may request each operation of staff, by operationId. A service does not start if an operation is
 * missing here.
 */
const roles: Roles = { ...ofOrders, ...ofNotifier }

/** Lists the operations of staff in orders; `staffOperations` lists the operations of both services. */
export const ordersOperations: readonly string[] = Object.keys(ofOrders)
export const staffOperations: readonly string[] = Object.keys(roles)

/** Returns the roles that may request an operation; undefined for one that is not for staff. */
export const rolesFor = (operationId: string): readonly StaffRole[] | undefined =>
  Object.hasOwn(roles, operationId) ? roles[operationId] : undefined

/** Lists which of `operations`, by default all of both services, one of the roles may request. */
export const operationsFor = (held: StaffRole | readonly StaffRole[], operations = staffOperations): string[] =>
  operations.filter(operationId => roles[operationId]?.some(role => held.includes(role)))

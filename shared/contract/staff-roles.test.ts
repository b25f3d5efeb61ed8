import t from 'tap'
import { operationsFor, ordersOperations, rolesFor, staffOperations, staffRoles } from './staff-roles.ts'

const everyone = ['viewer', 'dispatcher', 'messenger', 'accounts', 'admin']
/** Lists the operations that docs/staff/staff.md#roles describes, by the roles that may request them. */
const table: [roles: string[], operations: string[]][] = [
  [
    everyone,
    [
      ...['listAllOrders', 'getAnyOrder', 'getToday', 'listStaffStatuses', 'listStaffCities', 'listMerchants'],
      ...['getAnyParcelMoney', 'listProofs', 'getProof'],
      ...['listAllPickups', 'getAnyPickup', 'printAnyPickupReceipt', 'listAllTickets'],
      ...['listAllFailedDeliveries', 'listStaffFailureReasons'],
      ...['listRateGaps', 'listCustomerRequests', 'listMessages', 'summariseMessages', 'getMessage', 'getTimeline'],
      ...['getConversation', 'listConversations', 'listConversationMessages', 'listTemplates', 'listChannels'],
    ],
  ],
  [
    [...everyone, 'rider'],
    ['getCurrentStaff', 'logOutStaff', 'listMySessions', 'endMySessions'],
  ],
  [
    ['admin', 'rider'],
    ['listMyParcels', 'lookUpMyParcel', 'sortMyParcels', 'sendActs'],
  ],
  [
    ['dispatcher', 'admin'],
    [
      'moveOrders',
      'editAnyOrder',
      'instructAnyOrder',
      'decideCustomerRequest',
      'printAnyLabel',
      'printAnyLabels',
      'printRunSheet',
      ...['assignParcels', 'unassignParcels', 'listRiders', 'listRefusedActs', 'decideAct'],
      ...['makeSignInLink', 'listSignIns', 'endSignIn'],
      ...['assignPickup', 'finishPickup', 'missPickup', 'replyToTicket', 'closeTicket'],
    ],
  ],
  [
    ['dispatcher', 'accounts', 'admin'],
    ['takeBackMove', 'listCollectors'],
  ],
  [
    ['accounts', 'admin'],
    [
      ...[
        'getCash',
        'listUnbankedParcels',
        'listHandovers',
        'handOverCash',
        'settleHandover',
        'depositCash',
        'transferCash',
        'getStatement',
        'getMerchantBalance',
      ],
      ...['listAccounts', 'getTrialBalance', 'listJournal', 'getMonthReport', 'getMerchantAccount'],
      ...['getTaxSchedule', 'listAudit', 'getWithholdingStatement', 'getMerchantWithholding'],
      ...['listAllInvoices', 'getAnyInvoice', 'getAnyCreditNote', 'makeInvoices', 'submitInvoice', 'approveInvoice'],
      ...['rejectInvoice', 'cancelInvoice', 'payCharges', 'settleDispute', 'compensateParcel', 'getBankAccount'],
      ...['changeBankAccount', 'confirmBankAccount', 'getPayRun', 'makePayoutBatch', 'getPayoutBatch'],
      ...['seeBankAccount', 'listPayoutLines'],
      ...['listCorrections', 'makeCorrection', 'approveCorrection', 'rejectCorrection'],
      ...['listBankEntries', 'remitTax', 'makeBankEntry', 'approveBankEntry', 'rejectBankEntry'],
      'getTaxes',
      ...['releasePayoutBatch', 'cancelPayoutBatch', 'failPayouts', 'settlePayoutBatch'],
    ],
  ],
  [
    ['messenger', 'admin'],
    [
      ...['preflightMessages', 'sendMessage', 'sendMessages', 'cancelMessage', 'resendMessage', 'optOut', 'optIn'],
      ...['getCosts', 'replyToConversation', 'readConversation'],
    ],
  ],
  [
    ['admin'],
    [
      'putChannel',
      'registerChannel',
      'checkChannel',
      'diagnoseChannel',
      'subscribeChannel',
      'resumeChannel',
      'syncTemplates',
      ...['listStaffPeople', 'addStaffPerson', 'changeStaffPerson', 'inviteStaffPerson', 'resetStaffSignIn'],
      ...['listStaffSessions', 'endStaffSessions'],
    ],
  ],
]

t.test('each operation of staff is open to the roles that docs/staff/staff.md lists', async t => {
  t.strictSame(staffRoles, [...everyone, 'rider'])
  for (const [roles, operations] of table)
    for (const operation of operations) t.strictSame(rolesFor(operation), roles, operation)
  t.strictSame(staffOperations.toSorted(), table.flatMap(([, operations]) => operations).toSorted())
})

t.test('an operation that is not for staff has no roles, whatever its name', async t => {
  for (const name of ['createOrders', 'toString', '__proto__', 'constructor']) t.equal(rolesFor(name), undefined, name)
})

t.test('the operations of orders come first', async t => {
  t.strictSame(ordersOperations, staffOperations.slice(0, ordersOperations.length))
  t.ok(ordersOperations.includes('printRunSheet') && !ordersOperations.includes('listMessages'))
  t.strictSame(operationsFor('messenger', ['sendMessage', 'moveOrders']), ['sendMessage'])
})

t.test('each role may request the operations that docs/staff/staff.md lists', async t => {
  for (const role of staffRoles) {
    const expected = table.flatMap(([roles, operations]) => (roles.includes(role) ? operations : []))
    t.strictSame(operationsFor(role).toSorted(), expected.toSorted(), role)
  }
})

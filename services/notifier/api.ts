export const api = {
  title: 'Courier notifier',
  description: 'Staff send template messages to customers; the messaging API reports their delivery.',
  tags: [
    { name: 'messages', description: 'Messages and their timelines.' },
    { name: 'timeline', description: 'The statuses of a parcel and the messages sent to its customer.' },
    { name: 'costs', description: 'The cost of messages, and the budget.' },
    { name: 'channels', description: 'The numbers that messages are sent from.' },
    { name: 'templates', description: 'The catalogue of the account.' },
    { name: 'conversations', description: 'Messages from customers, and the 24 hours after each.' },
    { name: 'events', description: 'Events from orders.' },
    { name: 'webhooks', description: 'Webhooks of the messaging API.' },
  ],
  audiences: [
    {
      name: 'staff',
      title: 'For staff',
      description: 'Messages to customers, the numbers that send them, and the catalogue of templates.',
      tags: ['messages', 'timeline', 'costs', 'channels', 'templates', 'conversations'],
      quickStart: `# TOKEN from a login at orders, or from: npm run notifier -- token create --tenant demo --staff NAME
curl -sS '$URL/api/messages?limit=5' -H 'Authorization: Bearer TOKEN' -H 'X-tenant: demo'`,
    },
    {
      name: 'internal',
      title: 'Internal',
      description: 'Events from orders, webhooks of the messaging API, and what an operator watches.',
      tags: ['events', 'webhooks', 'operations'],
    },
  ],
  pages: [
    ...['staff', 'messages', 'replies', 'costs', 'portal'].map(page => `staff/${page}`),
    ...['messaging-setup', 'company-files', 'settings', 'runbook'].map(page => `operators/${page}`),
    'merchants/error-codes',
  ],
}

/** Finds the tag of a route: the first part of its path that is a tag. */
export const findTag = (url: string): string | undefined =>
  url.split('/').find(part => api.tags.some(({ name }) => name === part))

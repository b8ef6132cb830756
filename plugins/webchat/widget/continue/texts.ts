/** The texts with which a signed-in person connects chats. Only pages of such persons load them. */
export const CONTINUE_ENGLISH = {
  offer: 'Continue on {channels}',
  connect: 'Get a code',
  send: 'Send this code to our bot, in a private chat:',
  open: 'Open {channel}',
  scan: 'QR code that opens {channel} with the code',
  claimed: 'Is this your chat?',
  yes: 'Yes, connect it',
  no: 'No',
  answer: 'Thank you. Now answer the question in that chat.',
  done: 'Your chat is connected.',
  ended: 'The chat was not connected.',
  connected: 'Connected:',
  disconnect: 'Disconnect',
  failed: 'This did not work. Please try again later.',
};

export type ContinueTexts = typeof CONTINUE_ENGLISH;

export const CONTINUE_LANGUAGES: Readonly<Record<'de' | 'es', ContinueTexts>> = {
  de: {
    offer: 'Weiter auf {channels}',
    connect: 'Code holen',
    send: 'Senden Sie diesen Code in einem privaten Chat an unseren Bot:',
    open: '{channel} öffnen',
    scan: 'QR-Code, der {channel} mit dem Code öffnet',
    claimed: 'Ist das Ihr Chat?',
    yes: 'Ja, verbinden',
    no: 'Nein',
    answer: 'Danke. Beantworten Sie jetzt die Frage in diesem Chat.',
    done: 'Ihr Chat ist verbunden.',
    ended: 'Der Chat wurde nicht verbunden.',
    connected: 'Verbunden:',
    disconnect: 'Trennen',
    failed: 'Das hat nicht funktioniert. Bitte versuchen Sie es später noch einmal.',
  },
  es: {
    offer: 'Continuar en {channels}',
    connect: 'Obtener un código',
    send: 'Envíe este código a nuestro bot, en un chat privado:',
    open: 'Abrir {channel}',
    scan: 'Código QR que abre {channel} con el código',
    claimed: '¿Es este su chat?',
    yes: 'Sí, conectarlo',
    no: 'No',
    answer: 'Gracias. Ahora responda la pregunta en ese chat.',
    done: 'Su chat está conectado.',
    ended: 'El chat no se conectó.',
    connected: 'Conectado:',
    disconnect: 'Desconectar',
    failed: 'No ha funcionado. Por favor, inténtelo de nuevo más tarde.',
  },
};

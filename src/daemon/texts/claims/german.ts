import { anyOf, type ClaimPatterns, pattern } from './claim-patterns.ts';

const DONE = anyOf(`
  abbestellt abgeschaltet angeschaltet ausgeschaltet bearbeitet eingeschaltet geteilt markiert gestellt abgebrochen abgebucht abgemeldet abgeschickt abgeschlossen abgesendet abgesagt aktiviert aktualisiert
  angefordert angelegt angemeldet angepasst angewendet angewandt annulliert archiviert aufgegeben aufgehoben
  aufgenommen ausgeführt ausgelöst ausgestellt ausgetauscht ausgezahlt beantragt beauftragt beendet benachrichtigt
  bestellt bezahlt blockiert deaktiviert durchgeführt eingecheckt eingegeben eingelöst eingereicht eingerichtet
  eingeladen eingeplant eingetragen entfernt entsperrt erfasst erledigt erneuert ersetzt erstattet erstellt erweitert freigegeben
  freigeschaltet gebucht geändert gekauft gekündigt gelegt gelöscht gemeldet gemacht genehmigt geschickt geschlossen
  gesendet gesetzt gespeichert gesperrt gestartet gestoppt gestrichen gutgeschrieben hinterlegt hinzugefügt hochgeladen
  informiert initiiert installiert korrigiert notiert reaktiviert registriert reserviert rückgängig storniert
  übermittelt übernommen übertragen überwiesen umbenannt umgebucht umgestellt umgetauscht unterzeichnet veranlasst
  vereinbart verlängert verlegt vermerkt veröffentlicht verschickt verschoben versendet versandt vorgemerkt vorgenommen
  weitergegeben weitergeleitet widerrufen wiederhergestellt zugewiesen zugeteilt zurückerstattet zurückgesetzt
  zurückgezogen zusammengeführt
`);

/** What is said to be so now, as an announcement. */
const STATE = anyOf(`
  abgemeldet abgeschlossen aktualisiert angemeldet bestätigt bezahlt eingecheckt eingereicht eingerichtet eingetragen
  entfernt erledigt gebucht geändert
  gekündigt gelöscht gesendet gesetzt gespeichert hinterlegt reserviert storniert umgebucht verschickt verschoben
`);

/** What a short notice is about: „E-Mail gesendet“. */
const THING = anyOf(`
  adresse änderung(?:en)? anfrage antrag bestellung buchung datei e-?mails? einladung erinnerung erstattung konto nachricht
  passwort rechnung reservierung stornierung termin ticket überweisung zahlung
`);

const parts = {
  THING,
  DONE: `${DONE}|rückgängig gemacht`,
  STATE,
  /** Anything within the clause, up to the participle. A subordinate clause has the verb behind the participle. */
  GAP: '[^!?;]{0,120}? ?',
  NOW: anyOf('jetzt nun hiermit damit soeben sofort ab somit erfolgreich'),
};

export const GERMAN: ClaimPatterns = {
  own: [
    pattern(String.raw`\b(?:ich|wir) hab(?:e|en)?\b<GAP>\b<DONE>\b`, parts),
    pattern(String.raw`\bhabe? ich\b<GAP>\b<DONE>\b`, parts),
    pattern(String.raw`\bhaben wir\b<GAP>\b<DONE>\b`, parts),
    pattern(String.raw`^(?:alles |schon |so |das ist )*erledigt(?=$|\s*[,;:.!–—-])`),
    pattern('^(?:erfolgreich )?<DONE>$', parts),
    pattern('^(?:ihre? |die |der |das )?<THING> (?:erfolgreich )?<DONE>$', parts),
    pattern(String.raw`^erfolgreich <DONE>\b`, parts),
  ],
  announced: [
    pattern(
      String.raw`^(?:gern |gerne |hiermit )?(?:kann |können |darf |freue )?(?:ich|wir)\b.{0,30}\b(?:bestätigen?|mitteilen|melden|sagen|mich)\b.{0,10}, dass (?:\S+ ){1,12}?<DONE> (?:ist|sind|wurden?|hab(?:e|en))\b`,
      parts,
    ),
  ],
  passive: [
    pattern(String.raw`\bwurden?\b<GAP>\b<DONE>\b`, parts),
    pattern(String.raw`\b(?:ist|sind|bist)\b<GAP>\b<DONE> worden\b`, parts),
    pattern(String.raw`\b(?:ist|sind|bist)\b<GAP>\b<NOW>\b<GAP>\b<DONE>\b`, parts),
    pattern(String.raw`\b(?:ist|sind|bist) (?:\S+ ){0,8}?<STATE>$`, parts),
    pattern(
      String.raw`\b(?:e-?mail|nachricht|rechnung|einladung)\b[^!?;]{0,40} ist (?:schon )?(?:raus|unterwegs)\b`,
    ),
    pattern(String.raw`\b<NOW> (?:ist|sind)\b<GAP>\b<STATE>\b`, parts),
    pattern(
      String.raw`\b(?:zahlung|überweisung|buchung|stornierung|änderung|erstattung)\b[^.!?;:]{0,60} ist erfolgt\b`,
    ),
  ],
  denied: pattern(
    String.raw`\b(?:nicht|nie|niemals|nichts|niemand|kein\p{L}*|weder|ohne|wenn|falls|sobald|nachdem|bevor|bis (?:ich|sie|du|der|die|das|es)|ob|sofern|solange|weil|da|würden?|hätten?|wäre|könnten?|sollten?|kann|können|werden?|wird|offenbar|anscheinend|scheint|laut|versucht)\b`,
  ),
  elsewhere: pattern(
    String.raw`\b(?:gestern|vorgestern|damals|bereits|schon|früher|ursprünglich|letzte[nrms]? (?:woche|monat|jahr|mal|nacht|\p{L}+tag)|vor (?:\d+|einem|einer|einigen|ein paar|zwei|drei|vier|fünf|sechs) \p{L}+|(?:wurden?|ist|sind) (?:\p{L}+ )?am \d{1,2}|zuletzt|im (?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)|v(?:om|on (?:der|dem|den|unser\p{L}*|ihrem|ihrer|einem|einer)) (?:verkäufer|händler|techniker|shop|kund\p{L}*|system|anbieter|team|kolleg\p{L}*|support|partner|bank|inhaber|besitzer|administrator|vorgesetzt\p{L}*|absender|empfänger|lieferant\p{L}*|hersteller|mitarbeiter\p{L}*)|als \p{L}+ (?:eingetragen|geführt|markiert|gemeldet)|innerhalb von)\b`,
  ),
  asks: pattern(
    String.raw`^(?:und |oder |also )?(?:soll(?:en|te|ten)?|möchten?(?:st)?|kann(?:st)?|könn(?:en|ten?)|hab(?:e|en|t)|hast|hat|wurden?|ist|sind|bist|welche[rsnm]?|was|wann|wo|wer|wie|warum|darf|dürfen|woll(?:en|t)|willst|brauch\p{L}*)\b`,
  ),
  tag: pattern("^(?:oder|oder nicht|richtig|nicht wahr|stimmt(?:'s)?|ja|ok|okay|korrekt|stimmt das)$"),
};

import { anyOf, type ClaimPatterns, pattern } from './claim-patterns.ts';

/** Participles without their last letters, which show gender and number. */
const PARTICIPLE = anyOf(`
  abierto abonado aceptado activado actualizado adelantado agendado agregado añadido ajustado ampliado anulado apagado aplazado
  aplicado aprobado archivado asignado autorizado avisado bloqueado borrado cambiado cancelado cargado cerrado cobrado
  comprado completado compartido configurado contratado corregido creado dado desactivado desbloqueado descargado
  devuelto editado ejecutado eliminado emitido encargado encendido enviado escalado establecido extendido facturado finalizado
  generado gestionado guardado hecho iniciado ingresado inscrito instalado insertado invitado liberado llamado mandado
  marcado matriculado modificado movido notificado ordenado pagado pausado pedido prolongado procesado programado
  publicado puesto quitado reactivado realizado reanudado rechazado reembolsado reenviado registrado reiniciado renovado
  renombrado reprogramado reservado resuelto restablecido restaurado retirado revertido revocado silenciado solicitado
  subido suscrito suspendido terminado tramitado transferido trasladado unido vaciado vendido
`).replaceAll(/o(?=\||$)/g, '[oa]s?');

/** Verbs in the first person of the simple past. */
const I_DID = anyOf(`
  abrí aboné acepté activé actualicé adelanté agendé agregué añadí ajusté amplié anulé aplacé apliqué aprobé archivé
  asigné avisé bloqueé borré cambié cancelé cargué cerré cobré compré completé compartí configuré contraté corregí creé
  desactivé desbloqueé devolví edité ejecuté eliminé emití envié escalé extendí finalicé generé gestioné guardé hice
  inicié ingresé inscribí instalé invité mandé marqué modifiqué moví notifiqué ordené pagué pausé pedí procesé programé
  publiqué puse quité reactivé realicé reanudé reembolsé reenvié registré renové renombré reprogramé reservé resolví
  restablecí restauré retiré revertí revoqué solicité subí suscribí suspendí tramité transferí trasladé uní
`);

/** The same in the third person, for `se canceló`. */
const IT_DID = anyOf(`
  abrió abonó activó actualizó agendó agregó añadió ajustó amplió anuló aplazó aplicó aprobó archivó asignó bloqueó borró
  cambió canceló cargó cerró cobró completó configuró corrigió creó desactivó desbloqueó devolvió ejecutó eliminó emitió
  envió extendió finalizó generó guardó inició instaló modificó movió notificó ordenó pagó pausó procesó programó
  publicó quitó reactivó realizó reanudó reembolsó reenvió registró renovó reprogramó reservó resolvió restableció
  restauró retiró revirtió revocó solicitó subió suspendió tramitó transfirió trasladó
`);

/** What is said to be so now, as an announcement. */
const STATE = anyOf(`
  activado actualizado anulado bloqueado borrado cambiado cancelado completado confirmado desactivado eliminado enviado
  guardado hecho pagado programado realizado reembolsado registrado reservado resuelto
`).replaceAll(/o(?=\||$)/g, '[oa]s?');

/** What a short notice is about: «Correo enviado». */
const THING = anyOf(`
  archivo cambios? cita compra contraseña correo cuenta dirección factura invitación mensaje pago pedido recordatorio
  reembolso reserva solicitud suscripción tarea ticket transferencia
`);

const parts = {
  THING,
  PARTICIPLE,
  I_DID,
  IT_DID,
  STATE,
  ADV: anyOf('ya también ahora correctamente exitosamente finalmente debidamente automáticamente'),
  /** Pronouns before the verb. */
  PRO: anyOf('te le les lo la los las se me nos os'),
};

export const SPANISH: ClaimPatterns = {
  own: [
    pattern(String.raw`\b(?:he|hemos) (?:<ADV> )?<PARTICIPLE>\b`, parts),
    pattern(String.raw`\bacab(?:o|amos) de \p{L}{3,20}r(?:te|le|les|lo|la|los|las|se)*\b`),
    pattern(String.raw`\b<I_DID>\b`, parts),
    pattern(String.raw`^(?:ya |todo |está )*(?:listo|hecho)(?=$|\s*[,;:.!–—-])`),
    pattern('^(?:<THING> )?<PARTICIPLE>(?: (?:con éxito|correctamente|a .{1,60}))?$', parts),
  ],
  passive: [
    pattern(
      String.raw`\b(?:ha|han|has|fue|fueron) (?:<ADV> )?(?:sido |quedado )(?:<ADV> )?(?:<PARTICIPLE>|confirmad[oa]s?)\b`,
      parts,
    ),
    pattern(String.raw`\b(?:fue|fueron) (?:<ADV> )?<PARTICIPLE>\b`, parts),
    pattern(String.raw`\bse (?:<PRO> )?(?:ha|han) (?:<ADV> )?<PARTICIPLE>\b`, parts),
    pattern(String.raw`\bse (?:<PRO> )?<IT_DID>\b`, parts),
    pattern(String.raw`\bqued(?:a|an|ó|aron) (?:<ADV> )?(?:<PARTICIPLE>|confirmad[oa]s?)\b`, parts),
    pattern(String.raw`\best(?:á|án) (?:<ADV> )?<STATE>\b`, parts),
    pattern(String.raw`\b(?:devolución|reembolso|cambio|solicitud)\b.{0,30} está en marcha\b`),
  ],
  denied: pattern(
    String.raw`\b(?:no(?! ?\.? ?\d)|nunca|jamás|nada|nadie|ningún|ninguna?|tampoco|sin|si|cuando|una vez|en cuanto|después de|antes de|hasta que|mientras|porque|ya que|aunque|como|según|parece|consta|figura|creo|habría\p{L}*|podría\p{L}*|que (?:ya )?(?:han?|fue|fueron|está|están|se))\b`,
  ),
  elsewhere: pattern(
    String.raw`\b(?:ayer|anteayer|anoche|hace|anteriormente|originalmente|la semana pasada|el (?:mes|año) pasado|el (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo) pasado|(?<!(?:hasta|para|desde) )el \d{1,2} de|en (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)|por (?:el|la|los|las|tu|su|nuestr[oa]|un|una)|en un plazo)\b`,
  ),
  asks: pattern('^¿'),
  tag: pattern('^¿?(?:verdad|no|cierto|correcto|vale|de acuerdo|sí|o no)$'),
};

/// Why a connection to a push service failed or ended: one code and one sentence.
///
/// The log, the event `connection/…/down`, `stats`, `scale` and `/readyz` all show this value and do not rephrase it,
/// so that an operator who searches for the text of one finds it in the others.
package struct ConnectionFault: Sendable, Equatable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// DNS: the host has no address, or the lookup failed.
        case nameNotFound = "name_not_found"
        case refused
        case unreachable
        case timedOut = "timed_out"
        /// The peer vanished: the connection was reset, or TCP ended without the end of TLS.
        case reset
        /// The peer closed the connection in good order, without an answer.
        case closedByPeer = "closed_by_peer"
        /// This side does not trust the certificate of the push service.
        case notTrusted = "not_trusted"
        /// The push service rejects the certificate of this side, or requires one.
        case certificateRefused = "certificate_refused"
        /// The peer does not offer HTTP/2 in the handshake of TLS.
        case noCommonProtocol = "no_common_protocol"
        /// Any other failure of TLS.
        case tls
        /// The peer violates HTTP/2 or the legacy protocol.
        case badProtocol = "protocol"
        /// The peer was connected and then gave no sign of life.
        case silent
        case goAway = "goaway"
        /// The push service answered a push with a reason that concerns the credential.
        case credentialRefused = "credential_refused"
        /// This side closed it.
        case closed
        /// This machine lacks a descriptor, memory or a port for another connection, or another local failure occurred.
        case local
    }

    package let code: Code
    /// What happened, where, and what to do.
    package let sentence: String
    /// The reason that the push service gave, if any.
    package let reason: ProviderReason?

    package init(_ code: Code, sentence: String, reason: ProviderReason? = nil) {
        self.code = code
        self.sentence = sentence
        self.reason = reason
    }

    /// Creates the fault for an answer of the push service that concerns the credential.
    package init(refused refusal: Refusal, by reasons: ReasonTable) {
        let (meaning, advice) = reasons.explanation(of: refusal)
        self.init(
            .credentialRefused,
            sentence:
                "the push service answered \(refusal.status)\(refusal.reason.map { " \($0)" } ?? ""): \(meaning); \(advice)",
            reason: refusal.reason)
    }

    /// The `reason` of an event: the reason of the push service, or else the code.
    package var word: String { reason?.rawValue ?? code.rawValue }

    package var description: String { sentence }
}

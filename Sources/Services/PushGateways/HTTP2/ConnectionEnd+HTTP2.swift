import PushModel
import PushTransport

extension ConnectionEnd {
    /// Describes the end of an HTTP/2 connection and its consequence for the next one.
    init(_ closure: HTTP2Closure, at address: String, wasConnected: Bool, reason: ProviderReason?) {
        let sentence = "\(address): \(closure)"
        switch closure {
        case .notConnected(let error): self.init(error)
        case .channel(let closure): self.init(closure, at: address, wasConnected: wasConnected, reason: reason)
        case .violation: self.init(.broken, fault: ConnectionFault(.badProtocol, sentence: sentence, reason: reason))
        case .silent: self.init(.silent, fault: ConnectionFault(.silent, sentence: sentence, reason: reason))
        case .goAway: self.init(.goAway, fault: ConnectionFault(.goAway, sentence: sentence, reason: reason))
        }
    }
}

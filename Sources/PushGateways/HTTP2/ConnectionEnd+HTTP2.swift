import PushModel
import PushTransport

extension ConnectionEnd {
    /// Describes the end of an HTTP/2 connection and its consequence for the next one.
    init(_ closure: HTTP2Closure, at address: String, wasConnected: Bool, reason: ProviderReason?) {
        let sentence = "\(address): \(closure)"
        switch closure {
        case .notConnected(let error): self.init(error)
        case .channel(let closure): self.init(closure, at: address, wasConnected: wasConnected, reason: reason)
        case .violation: self.init(.broken, ConnectionFault(.badProtocol, sentence, reason: reason))
        case .silent: self.init(.silent, ConnectionFault(.silent, sentence, reason: reason))
        case .goAway: self.init(.goAway, ConnectionFault(.goAway, sentence, reason: reason))
        }
    }
}

/// Which of Apple's two worlds an app is in. Tokens of one mean nothing in the other.
package enum PushEnvironment: String, CaseIterable, Sendable, Encodable {
    case production, sandbox
}

/// Which of Apple's two worlds a listener stands for. Tokens, keys and channels of one mean nothing in the other.
package enum APNsEnvironment: String, CaseIterable, Sendable {
    case production, sandbox
}

import PushGateways
import PushLoop
import PushModel

/// A token source that mints a token at once whenever one is refused.
final class TestTokens: Sendable {
    private struct State {
        var current: ProviderToken
        var subscribers: [(loop: EventLoop, take: TokenSource.Take)] = []
    }

    private let apple: SimulatedApple
    private let state: Locked<State>

    init(_ apple: SimulatedApple, generation: UInt64 = 1) throws {
        self.apple = apple
        state = Locked(State(current: try apple.token(generation: generation)))
    }

    var source: TokenSource {
        TokenSource(
            subscribe: { [self] loop, take in
                let current = state.withLock { state in
                    state.subscribers.append((loop, take))
                    return state.current
                }
                loop.execute { take(.success(current)) }
                return {}
            },
            refused: { [self] in renew($0) }, mintedTooOften: {})
    }

    private func renew(_ generation: UInt64) {
        let (token, subscribers) = state.withLock { state in
            if state.current.generation <= generation, let next = try? apple.token(generation: generation + 1) {
                state.current = next
            }
            return (state.current, state.subscribers)
        }
        for subscriber in subscribers { subscriber.loop.execute { subscriber.take(.success(token)) } }
    }
}

import PushLoop

/// The answers of one connection that a fault delays, by stream. It belongs to its event loop.
struct DelayedAnswers<Answer> {
    private let loop: EventLoop
    private var waiting: [Int32: (answer: Answer, timer: TimerID)] = [:]

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Keeps an answer for so many nanoseconds.
    ///
    /// - Parameter isDue: Called then. It takes the answer and sends it.
    mutating func add(
        _ answer: Answer, on stream: Int32, after delay: Int64, isDue: @escaping () -> Void
    ) {
        waiting[stream] = (answer, loop.schedule(after: .nanoseconds(delay), action: isDue))
    }

    /// Returns the answer on a stream, which is not kept any more; nil if there is none.
    mutating func take(_ stream: Int32) -> Answer? {
        guard let (answer, timer) = waiting.removeValue(forKey: stream) else { return nil }
        loop.cancel(timer)
        return answer
    }

    /// Returns all answers with their streams.
    mutating func takeAll() -> [(stream: Int32, answer: Answer)] {
        let all = waiting.map { (stream: $0.key, answer: $0.value.answer) }
        for one in waiting.values { loop.cancel(one.timer) }
        waiting = [:]
        return all
    }
}

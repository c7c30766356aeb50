import Testing

@testable import RequestQueue

@Suite struct AlarmListTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func `The earliest time is known, however the times change`(
        _ seed: UInt64
    ) {
        var random = Jitter(seed: seed)
        var alarms = AlarmList()
        var model: [QueueMachine.ID: Duration] = [:]
        for _ in 0..<3000 {
            let id = QueueMachine.ID.random(in: 0...100, using: &random)
            let isRemoved = Int.random(in: 0...3, using: &random) == 0
            model[id] = isRemoved ? nil : .seconds(Int.random(in: 0...1000, using: &random))
            alarms.set(id, to: model[id])
            #expect(alarms.next == model.values.min() && alarms.isEmpty == model.isEmpty)
            let now = Duration.seconds(Int.random(in: 0...1000, using: &random))
            #expect(alarms.due(at: now) == model.filter { $0.value <= now }.keys.sorted())
        }
    }

    @Test func `Times that hold no more do not gather`() {
        var alarms = AlarmList()
        alarms.set(1, to: .zero)
        for second in 1...10_000 { alarms.set(2, to: .seconds(second)) }
        #expect(alarms.storedCount < 100 && alarms.next == .zero)
        alarms.set(1, to: nil)
        #expect(alarms.next == .seconds(10_000))
    }
}

import PushTime
import Testing

@Suite struct WallTimeTests {
    @Test func `Seconds become milliseconds, and extreme values saturate with room for additions`() {
        #expect(WallTime(seconds: 1_800_000_000).milliseconds == 1_800_000_000_000)
        #expect(WallTime(seconds: -1).milliseconds == -1000)
        for seconds in [Int64.max, .max / 1000, .max / 4000 + 1] as [Int64] {
            #expect(WallTime(seconds: seconds).milliseconds == .max / 4000 * 1000)
            #expect(WallTime(seconds: -seconds).milliseconds == -(.max / 4000 * 1000))
        }
        #expect(WallTime(seconds: .min).milliseconds == -(.max / 4000 * 1000))
    }
}

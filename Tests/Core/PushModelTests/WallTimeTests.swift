import PushTime
import Testing

@Suite struct WallTimeTests {
    @Test(
        arguments: [
            (.nanoseconds(-1), -1), (.nanoseconds(Int64.min), .min), (.nanoseconds(Int64.max), .max),
            (.milliseconds(-1500), -1_500_000_000), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
            (.seconds(9_223_372_036) + .nanoseconds(854_775_808), .max),
            (.seconds(-9_223_372_036) - .nanoseconds(854_775_809), .min),
            (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
        ] as [(Duration, Int64)])
    func `Durations in nanoseconds are rounded toward zero and saturate`(duration: Duration, nanoseconds: Int64) {
        #expect(duration.wholeNanoseconds == nanoseconds)
    }

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

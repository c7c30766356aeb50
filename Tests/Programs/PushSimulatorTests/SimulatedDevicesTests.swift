import PushLoop
import Testing

@testable import PushSimulator

@Suite struct SimulatedDevicesTests {
    private let token = Provider.token

    @Test("Each state of a device has its answer")
    func answersForEachState() throws {
        let provider = try Provider()
        let since = WallTime(milliseconds: 1_700_000_000_123)
        func say(_ device: SimulatedDevices.Device) -> (Reason, String) {
            let isSet = provider.machine.devices.set(device, for: SimulatedDevices.Pattern(token)!)
            #expect(isSet)
            let reaction = provider.send()
            return (reaction.reason, provider.text(of: reaction).body)
        }
        #expect(say(.init(state: .active)).0 == .none)
        #expect(
            say(.init(state: .unregistered, since: since)) == (
                .unregistered, #"{"reason":"Unregistered","timestamp":1700000000123}"#
            ))
        #expect(
            say(.init(state: .expired, since: since)) == (
                .expiredToken, #"{"reason":"ExpiredToken","timestamp":1700000000123}"#
            ))
        #expect(say(.init(state: .bad)) == (.badDeviceToken, #"{"reason":"BadDeviceToken"}"#))
        #expect(say(.init(topics: ["com.example.other"])).0 == .deviceTokenNotForTopic)
        #expect(say(.init(topics: ["com.example.other", "com.example.shop"])).0 == .none)
        #expect(say(.init(environment: .sandbox)).0 == .badDeviceToken)
        #expect(say(.init(environment: .production)).0 == .none)
        // Another topic takes precedence over an unregistered token.
        #expect(say(.init(state: .unregistered, topics: ["com.example.other"])).0 == .deviceTokenNotForTopic)
        let other = String(repeating: "ab", count: 32)
        #expect(provider.send([":path": "/3/device/\(other)"]).status == 200, "other tokens are not affected")
    }

    @Test("An exact entry takes precedence over prefixes, and a longer prefix over a shorter one")
    func theLongestPrefixWinsAndATokenItselfFirst() {
        var book = SimulatedDevices()
        func state(_ text: String) -> SimulatedDevices.State? {
            ByteView.lending(Array(text.utf8)) { TokenBytes(hex: $0) }.flatMap { book.find($0) }?.state
        }
        #expect(state("abcdef") == nil)
        for (pattern, state) in [("a*", .bad), ("abc*", .expired), ("ab*", .unregistered), ("abcdef", .active)]
            as [(String, SimulatedDevices.State)]
        {
            let done1 = book.set(.init(state: state), for: SimulatedDevices.Pattern(pattern)!)
            #expect(done1)
        }
        #expect(state("abcdef") == .active)
        #expect(state("abcdee") == .expired)
        #expect(state("abdd") == .unregistered)
        #expect(state("aa") == .bad)
        #expect(state("bb") == nil)
        #expect(state("abcdef00") == .expired, "longer than the exact entry")
        let done2 = book.remove(SimulatedDevices.Pattern("abc*")!)
        #expect(done2)
        let done3 = book.remove(SimulatedDevices.Pattern("abc*")!)
        #expect(!done3)
        #expect(state("abcdee") == .unregistered)
        #expect(book.count == 3)
        book.removeAll()
        #expect(state("abcdef") == nil)
    }

    @Test("The prefix of a single star matches every token")
    func everythingMatchesAStar() throws {
        let provider = try Provider()
        _ = provider.machine.devices.set(.init(state: .bad), for: SimulatedDevices.Pattern("*")!)
        #expect(provider.send().reason == .badDeviceToken)
    }

    @Test("Unknown tokens are accepted unless the table rejects them")
    func unknownTokensAreTakenUnlessToldOtherwise() throws {
        let provider = try Provider()
        #expect(provider.send().status == 200)
        provider.machine.devices.acceptsUnknown = false
        #expect(provider.send().reason == .badDeviceToken)
        _ = provider.machine.devices.set(.init(), for: SimulatedDevices.Pattern(token)!)
        #expect(provider.send().status == 200)
    }

    @Test(
        "Malformed patterns are rejected",
        arguments: ["", "a", "abc", "xy", "ab*cd", "**", String(repeating: "ab", count: 101)])
    func refusesPatterns(_ text: String) {
        #expect(SimulatedDevices.Pattern(text) == nil)
    }

    @Test("Patterns are printed in lowercase", arguments: ["ab", "AB", "a*", "*", "abc*"])
    func printsPatterns(
        _ text: String
    ) {
        #expect(SimulatedDevices.Pattern(text)?.description == text.lowercased())
    }

    @Test("The number of prefixes is limited")
    func isBounded() {
        var book = SimulatedDevices()
        for number in 0..<SimulatedDevices.maxPrefixes {
            let digits = String(number, radix: 16)
            let done4 = book.set(.init(), for: SimulatedDevices.Pattern(digits + "f*")!)
            #expect(done4)
        }
        let done5 = book.set(.init(), for: SimulatedDevices.Pattern("0123456789*")!)
        #expect(!done5)
        let done6 = book.set(.init(state: .bad), for: SimulatedDevices.Pattern("0f*")!)
        #expect(done6, "an existing entry can be changed")
    }
}

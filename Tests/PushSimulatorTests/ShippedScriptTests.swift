import FoundationEssentials
import PushSimulator
import Testing

@Suite struct ShippedScriptTests {
    /// The file that README points to, from this file's place in the checkout.
    @Test func theShippedFaultScriptLoads() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let text = try #require(FileManager.default.contents(atPath: "/\(root)/Config/faults.json5"))
        let script = try FaultScript(Array(text))
        #expect(script.seed == 7)
        #expect(script.rules.count == 15)
    }
}

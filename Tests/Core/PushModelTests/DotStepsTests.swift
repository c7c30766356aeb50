import PushModel
import Testing

@Suite struct DotStepsTests {
    @Test(arguments: [".", "..", "a/..", "../a", "a/./b", "a\\..", ".\\a", "a/../b", "/..", "../", "a//./"])
    func `A step of dots occurs in a name`(name: String) {
        #expect(DotSteps.occur(in: name.utf8))
    }

    @Test(arguments: ["", "a", "...", "a..", "..a", ".a/b.", "a/.../b", "1.2.3", "a/b", "/", "\\", "a.../.b", "%2e"])
    func `Other dots and slashes are a name`(name: String) {
        #expect(!DotSteps.occur(in: name.utf8))
    }
}

import PushStore
import Testing

@Suite struct StoreErrorTests {
    @Test func itSaysWhatHappened() {
        #expect("\(StoreError(.full, "the disk of x is full"))" == "the disk of x is full")
    }
}

/// What is read from disk only to be looked at. One part of one lane is read at a time.
struct DiskLook {
    /// The lane whose part is being read.
    var lane: LaneID?
    /// The lane that was last read to find expired messages.
    var last = LaneID(position: 0)
}
